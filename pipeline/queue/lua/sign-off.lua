-- Removes a consumer that holds nothing. One that still holds entries stays: removing it would
-- take them off the list from which another relay recovers them.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, consumer
-- returns  1 when the consumer is gone, 0 when it stays
local held = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if #held > 0 then
  return 0
end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1
