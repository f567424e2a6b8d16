#!lua flags=allow-oom
-- Puts messages that a relay took back to the front of a list.
--
-- KEYS[1]  list: messages
-- ARGV     frames, the oldest last; none: the script is only loaded
-- returns  the length of the list; 0 without frames
-- never    fails because Redis is full: Redis had room for the messages before.
local length = 0
for i = 1, #ARGV do
  length = redis.call('RPUSH', KEYS[1], ARGV[i])
end
return length
