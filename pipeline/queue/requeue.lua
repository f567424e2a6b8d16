#!lua flags=allow-oom
-- Moves dead letters back into the queue. Nobody sees one in both or in neither.
--
-- KEYS[1]  stream of dead letters
-- KEYS[2]  stream or list of messages
-- KEYS[3]  how many messages the stream holds
-- ARGV     'stream' or 'list', then ids of dead letters
-- returns  the ids that were moved; one that is not there, or holds no frame, is left out
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
        redis.call('INCRBY', KEYS[3], 1)
      end
      redis.call('XDEL', KEYS[1], ARGV[i])
      moved[#moved + 1] = ARGV[i]
      break
    end
  end
end
return moved
