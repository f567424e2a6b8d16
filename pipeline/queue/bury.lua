-- Writes one message of an entry to the dead letters, with the reason. An entry of one message moves there as it is: nobody sees
-- it in both or in neither. One of several stays in its entry until all of them are done.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
-- KEYS[3]  stream of dead letters
-- ARGV     consumer group, entry id, reason, deliveries, and of several messages the frame of this one
-- returns  1 when it was written, 0 when the entry was no longer there
local found = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if #found == 1 then
  local fields = ARGV[5] and {'frame', ARGV[5]} or found[1][2]
  fields[#fields + 1] = 'reason'
  fields[#fields + 1] = ARGV[3]
  fields[#fields + 1] = 'deliveries'
  fields[#fields + 1] = ARGV[4]
  redis.call('XADD', KEYS[3], '*', unpack(fields))
end
if not ARGV[5] then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
  if redis.call('XDEL', KEYS[1], ARGV[2]) == 1 then
    redis.call('DECRBY', KEYS[2], 1)
  end
end
return #found
