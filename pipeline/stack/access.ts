import { createHash, randomBytes } from 'node:crypto';

/** The queue of a stream, whole or in shards; and that of a list. */
const STREAM = '~arrival:messages ~arrival:{*}:messages';
const LIST = '~arrival:list';
const DEAD_LETTERS = '~arrival:dead-letters ~arrival:{*}:dead-letters';
/** How many messages the queue holds. Who runs a script that counts has these keys beside those of the queue, too. */
const DEPTH = '~arrival:depth ~arrival:{*}:depth';
/** Each process adds to the telemetry: a selector of its own, so that no other command reaches it. */
const TELEMETRY = '(%W~arrival:telemetry +xadd)';
const TRACE = '%W~arrival:trace:*';
/** How the queue is divided, said by the first who uses it. */
const DIVISION = '(~arrival:shards +get +set)';
const DIVISION_SEEN = '(%R~arrival:shards +get)';
/** Who reads which shard. */
const LEASES =
  '(~arrival:relays ~arrival:{*}:lease +del +eval +evalsha +get +set +zadd +zcard +zrem +zremrangebyscore)';
/** Of a cluster, who has which slots. */
const CLUSTER = '+cluster|info +cluster|slots';

/**
 * Who may do what in Redis: keys to read (`%R~`), to write (`%W~`), or both (`~`), and commands. The default user is
 * off. What a Lua script does counts as done by the user who calls it.
 */
const REDIS_ACL = {
  /** Fills the queue, and has no command to read what is in it. A script's keys count as read and written. */
  ingest: [
    ...[STREAM, `%W${LIST}`, DEPTH, `(${DEPTH} +del +get +incrby)`, TELEMETRY, DIVISION, TRACE, CLUSTER],
    '+eval +evalsha +exec +info +llen +lpush +ltrim +multi +time +xadd +xlen',
  ],
  relay: [
    ...[STREAM, LIST, DEAD_LETTERS, DEPTH, `(${DEPTH} +del +get +incrby)`],
    ...[TELEMETRY, DIVISION, LEASES, TRACE, CLUSTER],
    '+blmpop +brpop +client|id +client|unblock +eval +evalsha +info +llen +lpush +ltrim +rpush +time',
    '+xack +xadd +xautoclaim +xclaim +xdel +xgroup|create +xgroup|delconsumer +xlen +xpending +xrange +xreadgroup',
  ],
  /** The supervisor: how much is left, and what the servers use. */
  stack: [
    '%R~arrival:messages %R~arrival:{*}:messages %R~arrival:list',
    '%R~arrival:dead-letters %R~arrival:{*}:dead-letters',
    ...[`(${DEPTH} +get)`, TELEMETRY, DIVISION_SEEN, CLUSTER],
    '+info +llen +time +xlen',
  ],
  /** Whoever looks after dead letters: sees them, puts them back into the queue, or drops them. */
  operator: [
    ...[STREAM, LIST, DEAD_LETTERS, DEPTH, `(${DEPTH} +incrby)`, DIVISION_SEEN, CLUSTER],
    '+eval +evalsha +info +lpush +time +xadd +xdel +xlen +xrange',
  ],
  /** The k6 side where there are no relays: takes the messages out of the queue. */
  collector: [
    ...['~arrival:messages', `(${DEPTH} +decrby)`, DIVISION_SEEN, LIST],
    '+blmpop +ping +time +xdel +xlen +xread',
  ],
  /**
   * The k6 side: the clock, what is left in the queue, and what the pipeline says of itself; it deletes trace lists that it has read.
   * Where several instances do a run together they write down when it begins.
   */
  reader: [
    ...['%R~arrival:*', DIVISION_SEEN, CLUSTER],
    '+info +lrange +ping +time +xlen +xrange',
    `(${TRACE} +unlink)`,
    '(~arrival:run:* +eval +evalsha +expire +hdel +hget +hset)',
  ],
} as const;

export type RedisUser = keyof typeof REDIS_ACL;
export const REDIS_USERS = Object.keys(REDIS_ACL) as RedisUser[];

/** Where subscribers of the k6 side say whether they are there: what their topics begin with. */
export const SUBSCRIBER_STATUS = 'status/subscriber/';

/** Who may do what on the broker. */
export const BROKER_ACL = {
  relay: ['write messages/#', 'write status/relay/#'],
  /** The k6 side: messages, and what it says of its own presence. */
  subscriber: ['read messages/#', 'read status/#', 'read $SYS/#', `write ${SUBSCRIBER_STATUS}#`],
  /** A broker that has its messages from this one. */
  bridge: ['read messages/#', 'read status/#'],
  /** The supervisor: the message that proves readiness, and who is there. */
  stack: ['read messages/probe/#', 'read status/#', 'read $SYS/#'],
} as const;

export type BrokerUser = keyof typeof BROKER_ACL;
export const BROKER_USERS = Object.keys(BROKER_ACL) as BrokerUser[];

/** A password or token that nobody guesses: 192 bits, in characters that need no quoting anywhere. */
export function secret(): string {
  return randomBytes(24).toString('base64url');
}

function forEach<User extends string>(
  users: readonly User[],
  of: (user: User) => string,
): Record<User, string> {
  return Object.fromEntries(users.map((user) => [user, of(user)])) as Record<User, string>;
}

/** A password for each user. */
export const secrets = <User extends string>(users: readonly User[]) => forEach(users, secret);

/** The address of a server with the credentials of each user. */
export const urls = <User extends string>(passwords: Record<User, string>, address: string) =>
  forEach(Object.keys(passwords) as User[], (user) =>
    address.replace('://', `://${user}:${passwords[user]}@`),
  );

/** A server of the user's own knows one user, whom he names. */
export const sameFor = <User extends string>(users: readonly User[], url: string) =>
  forEach(users, () => url);

/** Redis' ACL file. It holds hashes; a fast one is enough where the password is not a person's. */
export function redisAclFile(passwords: Record<RedisUser, string>): string[] {
  const hash = (password: string) => createHash('sha256').update(password).digest('hex');
  return [
    // Off, and without a password: nobody is this user but Redis itself, which reads its append-only file in its name. Without
    // all rights it would leave out every transaction in there, and so most of the queue.
    'user default reset ~* &* +@all',
    ...REDIS_USERS.map(
      (user) => `user ${user} reset on #${hash(passwords[user])} ${REDIS_ACL[user].join(' ')}`,
    ),
  ];
}

/** Mosquitto's ACL file. */
export function brokerAclFile(): string[] {
  return BROKER_USERS.flatMap((user) => [
    `user ${user}`,
    ...BROKER_ACL[user].map((topic) => `topic ${topic}`),
  ]);
}
