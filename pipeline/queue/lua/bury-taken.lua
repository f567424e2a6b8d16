#!lua flags=allow-oom
-- Adds a message that a relay took from a list to the dead letters. Redis has had room for it before.
--
-- KEYS[1]  stream of dead letters
-- ARGV     frame, reason, deliveries
-- returns  the id of the dead letter
return redis.call('XADD', KEYS[1], '*', 'frame', ARGV[1], 'reason', ARGV[2], 'deliveries', ARGV[3])
