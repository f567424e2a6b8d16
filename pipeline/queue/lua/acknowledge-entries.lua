#!lua flags=allow-oom
-- Removes delivered entries from the queue for good, and counts their messages off.
--
-- KEYS[1]  stream: messages of the shard
-- KEYS[2]  string: number of messages in the stream
-- ARGV     consumer group, then for each entry: its id, its number of messages
-- returns  the number of those messages that were still in the queue
-- never    fails half way for a missing right: Redis undoes nothing then, so it asks for the rights before it writes.
--          The counter in KEYS[2] is a help: an unusable value there, or a missing right to it, fails nothing (pcall).
if ARGV[2] then
  for name, allowed in pairs({
    xack = redis.acl_check_cmd('XACK', KEYS[1], ARGV[1], ARGV[2]),
    xdel = redis.acl_check_cmd('XDEL', KEYS[1], ARGV[2]),
  }) do
    if not allowed then
      return redis.error_reply("NOPERM this user has no permissions to run the '" .. name .. "' command on a key of the queue")
    end
  end
end
local count = 0
for i = 2, #ARGV, 2 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    count = count + ARGV[i + 1]
  end
end
if redis.pcall('XLEN', KEYS[1]) == 0 then
  -- Entries that were added or deleted by hand are not in the counter.
  redis.pcall('DEL', KEYS[2])
elseif count > 0 then
  redis.pcall('INCRBY', KEYS[2], -count)
end
return count
