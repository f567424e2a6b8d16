-- Removes a consumer that holds nothing.
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     consumer group, consumer
-- returns  1 when the consumer is gone; 0 when it stays
-- never    removes a consumer that holds entries: other relays would no longer find and recover them.
local held = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #held > 0 then
  return 0
end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
