-- Notes, before it is made, an attempt to deliver one message of an entry alone. Those before it are done: whoever takes the entry over
-- begins with this one.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how far entries got whose messages were tried one at a time
-- ARGV     consumer group, consumer, entry id, attempts, which of its messages (from 0)
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')
if ARGV[5] ~= '0' then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[5])
end
return 1
