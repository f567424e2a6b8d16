#!lua flags=allow-oom
-- Takes a lease that nobody holds, or that has not been renewed; renews the relay's own lease; or gives it back.
--
-- KEYS[1]  string: lease of the shard, `<relay> <number of its last renewal>`
-- ARGV     relay, number of this renewal (0: gives the lease back), lease of another relay to take over (empty: none)
-- returns  an empty string when the lease is now the relay's, or given back; else the lease that another relay holds
-- never    sets an expiry, as Redis' clock may step: other relays measure by their own clocks that a lease is not renewed;
--          nor fails because Redis is full, which must still be drained.
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
