#!lua flags=allow-oom
-- Moves an entry of one message to the dead letters, with the reason.
--
-- KEYS[1]  stream: messages of the shard
-- KEYS[2]  string: number of messages in the stream
-- KEYS[3]  stream: dead letters
-- ARGV     consumer group, entry id, reason, number of attempts
-- returns  1 when the entry was moved; 0 when it was no longer there
-- never    leaves the message in both streams or in neither, nor fails half way for a missing right: the caller would
--          bury it twice. The counter in KEYS[2] is a help: an unusable value there fails nothing (pcall).
local found = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])
if #found == 0 then
  return 0
end
for name, allowed in pairs({
  xadd = redis.acl_check_cmd('XADD', KEYS[3], '*', 'frame', ''),
  xack = redis.acl_check_cmd('XACK', KEYS[1], ARGV[1], ARGV[2]),
  xdel = redis.acl_check_cmd('XDEL', KEYS[1], ARGV[2]),
}) do
  if not allowed then
    return redis.error_reply("NOPERM this user has no permissions to run the '" .. name .. "' command on a key of the queue")
  end
end
local fields = found[1][2]
fields[#fields + 1] = 'reason'
fields[#fields + 1] = ARGV[3]
fields[#fields + 1] = 'deliveries'
fields[#fields + 1] = ARGV[4]
redis.call('XADD', KEYS[3], '*', unpack(fields))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
redis.pcall('INCRBY', KEYS[2], -1)
return 1
