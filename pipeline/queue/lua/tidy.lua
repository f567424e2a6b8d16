#!lua flags=allow-oom
-- Removes consumers of relays that are gone: those that hold nothing and have asked for nothing. One that still lives is made
-- anew when it reads.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, consumer that stays, ms without a sign of life
-- returns  the number of consumers that it removed
local removed = 0
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local of = {}
  for i = 1, #fields, 2 do
    of[fields[i]] = fields[i + 1]
  end
  if of.name ~= ARGV[2] and of.pending == 0 and of.idle >= tonumber(ARGV[3]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], of.name)
    removed = removed + 1
  end
end
return removed
