#!lua flags=allow-oom
-- Records the presence of a relay, removes relays that are gone, and lists those that are there.
--
-- KEYS[1]  hash: number of the last sign of life of each relay
-- ARGV     relay, number of this sign (0: signs the relay off), then for each relay that is gone: its name, its last number
-- returns  names and numbers in turn
-- never    removes a relay that has given a sign since, nor fails because Redis is full.
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
return redis.call('HGETALL', KEYS[1])
