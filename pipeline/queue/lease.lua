-- Takes a lease that nobody holds, or renews one's own.
--
-- KEYS[1]  lease of a shard
-- ARGV     relay, ms that the lease lasts; 0 gives it back
-- returns  1 when it is the relay's now, 0 when it is not
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return 0
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
