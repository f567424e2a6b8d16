-- Appends the messages of one write: all of them or, when Redis refuses, none.
-- One call wakes a waiting relay once, with everything, instead of once with the first message.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
-- ARGV     of each entry its frames (frame.ts) and how many they are
-- returns  how many messages the stream holds now
local held = redis.call('XLEN', KEYS[1])
local count = 0
for i = 1, #ARGV, 2 do
  redis.call('XADD', KEYS[1], '*', 'frame', ARGV[i])
  count = count + ARGV[i + 1]
end
if held == 0 then
  -- What somebody took out by hand was not counted.
  redis.call('SET', KEYS[2], count)
  return count
end
return redis.call('INCRBY', KEYS[2], count)
