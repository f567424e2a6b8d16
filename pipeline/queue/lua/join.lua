#!lua flags=allow-oom
-- Makes the consumer group, and its stream, unless they are there. Redis refuses XGROUP CREATE when it is full.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group
-- returns  1 when it made the group, 0 when the group was there
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if not made.err then
  return 1
end
if made.err:find('BUSYGROUP', 1, true) then
  return 0
end
return made
