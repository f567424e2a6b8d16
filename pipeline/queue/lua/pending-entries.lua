#!lua flags=no-writes,allow-oom
-- Lists the entries that relays hold, oldest first, with the time of Redis' clock.
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     consumer group, most rows
-- returns  {ms of Redis' clock, {{id, consumer, ms held, deliveries}...}}; ms held is 0 while the clock is behind the delivery
-- never    writes.
local time = redis.call('TIME')
return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', ARGV[2])}
