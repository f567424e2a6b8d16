-- Counts anew from zero when the stream is empty.
--
-- KEYS[1]  stream of messages
-- KEYS[2]  how many messages it holds
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
end
return 1
