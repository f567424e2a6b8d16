#!lua flags=allow-oom
-- Makes the consumer group, and its stream, unless they are there.
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     consumer group
-- returns  1 when it made the group; 0 when the group was there
-- never    moves the position of a group that is there, nor fails because Redis is full, as XGROUP CREATE alone would.
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if not made.err then
  return 1
end
if made.err:find('BUSYGROUP', 1, true) then
  return 0
end
return made
