-- Resets the counter of a stream that is empty.
--
-- KEYS[1]  stream: messages of the shard
-- KEYS[2]  string: number of messages in the stream
-- ARGV     none
-- returns  1
-- never    resets the counter of a stream that has entries.
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
end
return 1
