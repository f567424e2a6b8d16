-- Appends the messages of one event-loop turn: all of them or, when Redis refuses, none.
-- One call wakes a waiting relay once, with everything, instead of once with the first message.
--
-- KEYS[1]  stream of messages
-- ARGV     body, target, stamps of each message in turn; empty stamps are left out
-- returns  how many were appended
for i = 1, #ARGV, 3 do
  if ARGV[i + 2] == '' then
    redis.call('XADD', KEYS[1], '*', 'body', ARGV[i], 'target', ARGV[i + 1])
  else
    redis.call('XADD', KEYS[1], '*', 'body', ARGV[i], 'target', ARGV[i + 1], 'stamps', ARGV[i + 2])
  end
end
return #ARGV / 3
