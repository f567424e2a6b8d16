-- Takes delivered entries out of the queue for good.
--
-- KEYS[1]  stream of messages
-- ARGV     consumer group, then the entry ids
-- returns  how many of them were still in the queue
redis.call('XACK', KEYS[1], unpack(ARGV))
return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
