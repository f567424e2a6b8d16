#!lua flags=allow-oom
-- Moves what a consumer has taken from a list and has not seen back to its front. It may be called twice.
--
-- KEYS     as of take.lua
-- ARGV     how many messages it has seen, ms that its keys stay
-- returns  how many messages went back
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
