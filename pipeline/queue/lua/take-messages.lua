#!lua flags=allow-oom
-- Moves messages from a list to a list of the consumer, where they stay until it says that it has seen them: an answer
-- that is lost with its connection is given again. It may be called twice, and late.
--
-- KEYS[1]  list: messages
-- KEYS[2]  list: messages that the consumer has taken, the oldest last
-- KEYS[3]  string: number of messages that it had taken and seen when they were last removed from KEYS[2]
-- ARGV     number of messages that it has seen, most messages, most bytes, bytes that it has of the first message, ms that
--          the keys of a dead consumer stay
-- returns  {messages, oldest first}, and the bytes that are left out at the end of a single message
-- never    removes a message from KEYS[2] that the consumer has not seen.
local seen, most = tonumber(ARGV[1]), tonumber(ARGV[3])
local removed = tonumber(redis.call('GET', KEYS[3])) or seen
if seen > removed then
  redis.call('LTRIM', KEYS[2], 0, removed - seen - 1)
end
redis.call('SET', KEYS[3], math.max(seen, removed), 'PX', 2 * ARGV[5])
-- The oldest first.
local taken, bytes = {}, 0
local there = redis.call('LRANGE', KEYS[2], 0, -1)
for i = #there, 1, -1 do
  taken[#taken + 1] = there[i]
end
if #taken == 0 then
  for i = 1, tonumber(ARGV[2]) do
    local message = redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
    if not message then
      break
    end
    taken[i] = message
    bytes = bytes + #message
    if bytes >= most then
      break
    end
  end
end
if #taken > 0 then
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
local few, cut = {}, 0
bytes = 0
for i = 1, #taken do
  bytes = bytes + #taken[i]
  if bytes > most and #few > 0 then
    break
  end
  few[#few + 1] = taken[i]
end
if #few == 1 then
  local from = tonumber(ARGV[4])
  cut = math.max(#few[1] - from - most, 0)
  few[1] = few[1]:sub(from + 1, from + most)
end
return {few, cut}
