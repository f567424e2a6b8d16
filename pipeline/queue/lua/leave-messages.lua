#!lua flags=allow-oom
-- Moves what a consumer has taken from a list and has not seen back to the front of the list. It may be called twice.
--
-- KEYS[1]  list: messages
-- KEYS[2]  list: messages that the consumer has taken, the oldest last
-- KEYS[3]  string: number of messages that it had taken and seen when they were last removed from KEYS[2]
-- ARGV     number of messages that it has seen, ms that the keys of a dead consumer stay
-- returns  the number of messages that went back
-- never    gives back a message that the consumer has seen.
local seen = tonumber(ARGV[1])
local removed = tonumber(redis.call('GET', KEYS[3])) or seen
if seen > removed then
  redis.call('LTRIM', KEYS[2], 0, removed - seen - 1)
end
redis.call('SET', KEYS[3], math.max(seen, removed), 'PX', 2 * ARGV[2])
local count = 0
while redis.call('LMOVE', KEYS[2], KEYS[1], 'LEFT', 'RIGHT') do
  count = count + 1
end
return count
