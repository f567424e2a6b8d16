#!lua flags=allow-oom
-- Moves an entry of one message to the dead letters, with the reason. Nobody sees it in both or in neither.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
-- KEYS[3]  stream of dead letters
-- ARGV     consumer group, entry id, reason, deliveries
-- returns  1 when the entry was moved, 0 when it was no longer there
local found = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if #found == 0 then
  return 0
end
local fields = found[1][2]
fields[#fields + 1] = 'reason'
fields[#fields + 1] = ARGV[3]
fields[#fields + 1] = 'deliveries'
fields[#fields + 1] = ARGV[4]
redis.call('XADD', KEYS[3], '*', unpack(fields))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('INCRBY', KEYS[2], -1)
return 1
