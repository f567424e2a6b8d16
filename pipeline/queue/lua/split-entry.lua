#!lua flags=allow-oom
-- Gives messages of an entry an entry of their own, at the end of the queue.
--
-- KEYS[1]  stream: messages of the shard
-- KEYS[2]  string: number of messages in the stream
-- ARGV     consumer group, entry id, 1 (the entry stays with its other messages) or 0 (it is removed), its number of
--          messages, then for each message: frame, number of attempts, 1 (suspect) or 0, reason
-- returns  1 when it was done; 0 when the entry was no longer there
-- never    fails half way for a missing right: the caller would add the messages again. The counter in KEYS[2] is a help:
--          an unusable value there fails nothing (pcall).
if #redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2]) == 0 then
  return 0
end
for name, allowed in pairs({
  xadd = redis.acl_check_cmd('XADD', KEYS[1], '*', 'frame', ''),
  xack = ARGV[3] == '1' or redis.acl_check_cmd('XACK', KEYS[1], ARGV[1], ARGV[2]),
  xdel = ARGV[3] == '1' or redis.acl_check_cmd('XDEL', KEYS[1], ARGV[2]),
}) do
  if not allowed then
    return redis.error_reply("NOPERM this user has no permissions to run the '" .. name .. "' command on a key of the queue")
  end
end
local count = 0
for i = 5, #ARGV, 4 do
  redis.call('XADD', KEYS[1], '*', 'frame', ARGV[i], 'deliveries', ARGV[i + 1], 'suspect', ARGV[i + 2], 'reason', ARGV[i + 3])
  count = count + 1
end
if ARGV[3] == '0' then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
  redis.call('XDEL', KEYS[1], ARGV[2])
  count = count - ARGV[4]
end
redis.pcall('INCRBY', KEYS[2], count)
return 1
