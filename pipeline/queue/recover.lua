#!lua flags=allow-oom
-- Takes over entries, each from the consumer that is seen to have it. One that another consumer has meanwhile stays there.
-- The delivery counter is 1 from the first claim on and 2 from the first recovery on. From there an attempt is
-- counted when it is made (XCLAIM ... RETRYCOUNT), so that an entry which kills its relay does not use up the
-- attempts of those that the relay merely held beside it.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, consumer, then of each entry: id, consumer that has it, ms held at least
-- returns  {{{id, fields, counter before}...}, number of entries deleted while they were held}
local taken, deleted = {}, 0
for i = 3, #ARGV, 3 do
  local id = ARGV[i]
  local held = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
  if held and held[2] == ARGV[i + 1] and held[3] >= tonumber(ARGV[i + 2]) then
    local counter = held[4]
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'RETRYCOUNT', math.max(counter, 2), 'JUSTID')
    local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
    if entry then
      taken[#taken + 1] = {id, entry[2], counter}
    else
      deleted = deleted + 1
    end
  end
end
return {taken, deleted}
