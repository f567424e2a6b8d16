-- Takes delivered entries out of the queue for good.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
-- KEYS[3]  how far entries got whose messages were tried one at a time
-- ARGV     consumer group, then of each entry its id and how many messages it has
-- returns  how many messages of them were still in the queue
local count = 0
for i = 2, #ARGV, 2 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    count = count + ARGV[i + 1]
  end
end
if count > 0 then
  redis.call('DECRBY', KEYS[2], count)
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  for i = 2, #ARGV, 2 do
    redis.call('HDEL', KEYS[3], ARGV[i])
  end
end
return count
