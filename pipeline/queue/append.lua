-- Appends the messages of one write: all of them or, when Redis refuses, none.
-- One call wakes a waiting relay once, with everything, instead of once with the first message.
--
-- KEYS[1]  stream of messages
-- ARGV     frames (frame.ts)
-- returns  how many entries the stream holds now
for i = 1, #ARGV do
  redis.call('XADD', KEYS[1], '*', 'frame', ARGV[i])
end
return redis.call('XLEN', KEYS[1])
