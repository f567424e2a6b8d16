#!lua flags=allow-oom
-- Takes delivered entries out of the queue for good.
--
-- Redis undoes nothing of a script that fails half way, so it looks for its rights before it writes. The counter is a
-- help: what is in its key, or a right to it that is missing, fails nothing (pcall).
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
-- ARGV     consumer group, then of each entry its id and how many messages it has
-- returns  how many messages of them were still in the queue
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
