-- Records the presence of a relay, and counts the relays.
--
-- KEYS[1]  relays
-- ARGV     relay, ms until its presence ends; 0 signs it off
-- returns  the number of relays
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
end
return redis.call('ZCARD', KEYS[1])
