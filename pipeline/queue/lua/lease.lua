#!lua flags=allow-oom
-- Takes a lease that nobody holds, or that has not been renewed; renews one's own; or gives it back.
-- It has no expiry, as Redis' clock may step: others see by their own clocks that it is not renewed any more.
-- allow-oom: a full Redis must still be drained.
--
-- KEYS[1]  lease of a shard: `<relay> <number of its last renewal>`
-- ARGV     relay, number of this renewal (0 gives the lease back), another relay's lease to take over (empty: none)
-- returns  empty when the lease is the relay's now, or given back; else the lease that another relay has
local lease = redis.call('GET', KEYS[1])
if lease and lease ~= ARGV[3] and lease:match('^(.*) %d+$') ~= ARGV[1] then
  return lease
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
end
return ''
