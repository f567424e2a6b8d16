#!lua flags=allow-oom
-- Records the broker that relays publish to, in place of the last record.
--
-- KEYS[1]  string: record of the broker
-- ARGV     record, ms that it stays
-- returns  1
-- never    fails because Redis is full, which must still be drained by relays of one broker.
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
