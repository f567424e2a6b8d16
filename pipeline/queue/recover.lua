-- Takes over entries that their consumers have held too long without renewing them.
-- The delivery counter is 1 from the first claim on and 2 from the first recovery on. From there an attempt is
-- counted when it is made (XCLAIM ... RETRYCOUNT), so that an entry which kills its relay does not use up the
-- attempts of those that the relay merely held beside it.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, consumer, ms held, cursor, most entries to take
-- returns  {next cursor ('0-0': seen all), {{id, fields, counter before}...}, ids deleted while they were held}
local reply = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'JUSTID')
local taken = {}
for i, id in ipairs(reply[2]) do
  local counter = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1][4]
  if counter == 1 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'RETRYCOUNT', 2, 'JUSTID')
  end
  taken[i] = {id, redis.call('XRANGE', KEYS[1], id, id)[1][2], counter}
end
return {reply[1], taken, reply[3]}
