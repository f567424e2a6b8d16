#!lua flags=allow-oom
-- Moves dead letters back into the queue.
--
-- KEYS[1]  stream: dead letters
-- KEYS[2]  stream or list: messages
-- KEYS[3]  string: number of messages in the stream
-- ARGV     'stream' or 'list', then ids of dead letters
-- returns  the ids that were moved; an id that is not there, or whose letter has no frame, is left out
-- never    leaves a message in both or in neither, nor fails half way for a missing right: the caller would requeue it
--          twice. The counter in KEYS[3] is a help: an unusable value there fails nothing (pcall).
for name, allowed in pairs({
  xadd = ARGV[1] == 'list' or redis.acl_check_cmd('XADD', KEYS[2], '*', 'frame', ''),
  lpush = ARGV[1] ~= 'list' or redis.acl_check_cmd('LPUSH', KEYS[2], ''),
  xdel = redis.acl_check_cmd('XDEL', KEYS[1], '0-1'),
}) do
  if not allowed then
    return redis.error_reply("NOPERM this user has no permissions to run the '" .. name .. "' command on a key of the queue")
  end
end
local moved = {}
for i = 2, #ARGV do
  local found = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  local fields = found and found[2] or {}
  for f = 1, #fields, 2 do
    if fields[f] == 'frame' then
      if ARGV[1] == 'list' then
        redis.call('LPUSH', KEYS[2], fields[f + 1])
      else
        redis.call('XADD', KEYS[2], '*', 'frame', fields[f + 1])
        redis.pcall('INCRBY', KEYS[3], 1)
      end
      redis.call('XDEL', KEYS[1], ARGV[i])
      moved[#moved + 1] = ARGV[i]
      break
    end
  end
end
return moved
