#!lua flags=allow-oom
-- Records the presence of a relay, removes relays that are gone, and lists those that are there.
--
-- KEYS[1]  relays: a hash of the number of each one's last sign of life
-- ARGV     relay, number of this sign (0 signs it off), then of each relay that is gone: name, last number
-- returns  names and numbers in turn
if redis.call('TYPE', KEYS[1]).ok == 'zset' then
  redis.call('DEL', KEYS[1]) -- of an earlier version
end
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
