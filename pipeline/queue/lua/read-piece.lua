#!lua flags=no-writes,allow-oom
-- Reads a part of the frames of an entry: the whole may exceed what Redis sends at once (client-output-buffer-limit).
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     entry id, first byte, last byte (both counted from 1)
-- returns  the bytes; nil when the entry is no longer there
-- never    writes.
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
local fields = entry and entry[2] or {}
for f = 1, #fields, 2 do
  if fields[f] == 'frame' then
    return fields[f + 1]:sub(tonumber(ARGV[2]), tonumber(ARGV[3]))
  end
end
return false
