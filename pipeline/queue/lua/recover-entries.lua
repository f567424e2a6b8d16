#!lua flags=allow-oom
-- Takes entries over, each from the consumer that was seen to have it.
--
-- Redis' delivery counter is 1 from the first claim on and 2 from the first recovery on. From there relays count each attempt
-- when they make it (XCLAIM ... RETRYCOUNT), so that an entry which kills its relay does not use up the attempts of
-- those that the relay merely held beside it. Entries that were given to the consumer itself keep their counter.
--
-- KEYS[1]  stream: messages of the shard
-- ARGV     consumer group, consumer, its sign of life (empty: none), most bytes of the answer, then for each entry: its id,
--          the consumer that has it, ms that it has been held at least
-- returns  {{{id, fields, counter before, bytes cut off}...}, number of entries deleted while they were held, number of
--          entries looked at}; the frames of a first entry that alone exceeds the bytes are cut off at the end
-- never    takes an entry that another consumer has got meanwhile, nor answers with more bytes than wanted.
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
