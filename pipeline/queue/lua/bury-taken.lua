#!lua flags=allow-oom
-- Adds a message that a relay took from a list to the dead letters.
--
-- KEYS[1]  stream: dead letters
-- ARGV     frame, reason, number of attempts
-- returns  the id of the dead letter
-- never    fails because Redis is full: Redis had room for the message before.
return redis.call('XADD', KEYS[1], '*', 'frame', ARGV[1], 'reason', ARGV[2], 'deliveries', ARGV[3])
