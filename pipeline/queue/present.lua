-- Says that a relay is there, and counts those who are.
--
-- KEYS[1]  relays
-- ARGV     relay, ms for which it is there; 0 signs it off
-- returns  how many relays are there
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
end
return redis.call('ZCARD', KEYS[1])
