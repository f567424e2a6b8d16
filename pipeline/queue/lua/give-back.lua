#!lua flags=allow-oom
-- Puts messages that a relay took back to the front of a list. Redis has had room for them before.
--
-- KEYS[1]  list of messages
-- ARGV     frames, the oldest last
-- returns  the length of the list
local length = 0
for i = 1, #ARGV do
  length = redis.call('RPUSH', KEYS[1], ARGV[i])
end
return length
