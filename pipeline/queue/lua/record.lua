#!lua flags=allow-oom
-- Records the broker that relays publish to. allow-oom: a full Redis must still be drained, by relays of one broker; a record
-- replaces the last one, so it takes no more memory.
--
-- KEYS[1]  record of the broker
-- ARGV     record, ms that it stays
-- returns  1
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
