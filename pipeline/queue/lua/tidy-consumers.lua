#!lua flags=allow-oom
-- Removes consumers of relays that are gone: they hold nothing and have asked for nothing for a while. Redis makes a
-- consumer that still lives anew when it reads.
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     consumer group, consumer that stays, ms without a sign of life
-- returns  the number of consumers that it removed
-- never    removes a consumer that holds entries.
local removed = 0
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for i = 1, #fields, 2 do
    consumer[fields[i]] = fields[i + 1]
  end
  if consumer.name ~= ARGV[2] and consumer.pending == 0 and consumer.idle >= tonumber(ARGV[3]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    removed = removed + 1
  end
end
return removed
