#!lua flags=allow-oom
-- Takes over entries, each from the consumer that is seen to have it. One that another consumer has meanwhile stays there.
-- The delivery counter is 1 from the first claim on and 2 from the first recovery on. From there an attempt is
-- counted when it is made (XCLAIM ... RETRYCOUNT), so that an entry which kills its relay does not use up the
-- attempts of those that the relay merely held beside it. What was given to the consumer itself was not attempted since.
-- It ends before the entries have more bytes than wanted. If the first one alone has more, the end of its frames is cut off.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, consumer, its sign of life (empty: none), most bytes, then of each entry: id, consumer that has it,
--          ms held at least
-- returns  {{{id, fields, counter before, bytes cut off}...}, number of entries deleted while they were held, of entries seen}
local taken, deleted, seen, bytes, most = {}, 0, 0, 0, tonumber(ARGV[4])
local keeps = {deliveries = true, suspect = true, reason = true}
for i = 5, #ARGV, 3 do
  local id = ARGV[i]
  local held = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
  if held and held[2] == ARGV[i + 1] and held[3] >= tonumber(ARGV[i + 2]) then
    local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
    local fields, size, cut = entry and entry[2] or {}, 0, 0
    for f = 1, #fields do
      size = size + #fields[f]
    end
    if bytes > 0 and bytes + size > most then
      break
    end
    bytes = bytes + size
    local counter = held[4]
    local claim = {'XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'RETRYCOUNT', counter}
    if held[2] ~= ARGV[2] then
      claim[8] = math.max(counter, 2)
    end
    if ARGV[3] ~= '' then
      claim[9], claim[10] = 'TIME', ARGV[3]
    end
    claim[#claim + 1] = 'JUSTID'
    redis.call(unpack(claim))
    if size > most then
      local few = {}
      for f = 1, #fields, 2 do
        local name, value = fields[f], fields[f + 1]
        if name == 'frame' and cut == 0 then
          cut = math.max(#value - most, 0)
          value = value:sub(1, most)
        elseif not keeps[name] then
          name = nil
        end
        if name then
          few[#few + 1], few[#few + 2] = name, value
        end
      end
      fields = few
    end
    if entry then
      taken[#taken + 1] = {id, fields, counter, cut}
    else
      deleted = deleted + 1
    end
  end
  seen = seen + 1
end
return {taken, deleted, seen}
