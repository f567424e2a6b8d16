import { createHash, randomBytes } from 'node:crypto';
import { PREFIX } from '../queue/keys.ts';

// Keys have the prefix of a pipeline without QUEUE_PREFIX; `redisAclFile` puts another one there. Those of a run keep it.
/** Keys of the queue: a stream, with or without shards, and a list. */
const STREAM = '~arrival:messages ~arrival:{*}:messages';
const LIST = '~arrival:list';
const DEAD_LETTERS = '~arrival:dead-letters ~arrival:{*}:dead-letters';
/** A relay moves the messages that it takes from the list to a list of its own. */
const TAKEN = '(~arrival:list ~arrival:list:* +blmove +eval +evalsha +lmove)';
const SEEN = '(~arrival:list:* +get +lrange +ltrim +pexpire +set)';
/** Keys of the number of messages. Users of scripts that count need them beside those of the queue. */
const DEPTH = '~arrival:depth ~arrival:{*}:depth';
/** Each process may add to the telemetry. A separate selector keeps other commands from it. */
const TELEMETRY = '(%W~arrival:telemetry +xadd)';
const TRACE = '%W~arrival:trace:*';
/** Trace lists are cut; no other list may be. */
const TRACING = `(${TRACE} +lpush +ltrim)`;
/** The number of shards, which the first user sets. */
const DIVISION = '(~arrival:shards +get +set)';
const DIVISION_SEEN = '(%R~arrival:shards +get)';
/** Topics that relays publish to. */
const BROKER = '(~arrival:broker +eval +evalsha +get +set)';
const BROKER_SEEN = '(%R~arrival:broker +get)';
/** Leases of shards. */
const LEASES =
  '(~arrival:relays ~arrival:{*}:lease +del +eval +evalsha +get +hdel +hget +hgetall +hset +set)';
/** The slots of a cluster's nodes. */
const CLUSTER = '+cluster|info +cluster|slots';

/**
 * The rights of Redis' users: keys to read (`%R~`), to write (`%W~`), or both (`~`), and commands. The default user is off. A
 * Lua script has the rights of the user that calls it.
 */
const REDIS_ACL = {
  /** Fills the queue, without commands that read it. A script's keys count as read and written. */
  ingest: [
    ...[
      STREAM,
      `%W${LIST}`,
      DEPTH,
      `(${DEPTH} +del +get +incrby)`,
      TELEMETRY,
      DIVISION,
      BROKER_SEEN,
      TRACING,
      CLUSTER,
    ],
    '+eval +evalsha +exec +info +llen +lpush +multi +time +xadd +xlen',
  ],
  relay: [
    ...[STREAM, LIST, TAKEN, SEEN, DEAD_LETTERS, DEPTH, `(${DEPTH} +del +get +incrby)`],
    ...[TELEMETRY, DIVISION, BROKER, LEASES, TRACING, CLUSTER],
    '+client|id +client|unblock +eval +evalsha +info +llen +lpush +rpush +time',
    '+xack +xadd +xclaim +xdel +xgroup|create +xgroup|delconsumer +xinfo|consumers +xlen +xpending +xrange +xreadgroup',
  ],
  /** The supervisor: counts messages and reads figures of the servers. */
  stack: [
    '%R~arrival:messages %R~arrival:{*}:messages %R~arrival:list',
    '%R~arrival:dead-letters %R~arrival:{*}:dead-letters',
    ...[`(${DEPTH} +get)`, TELEMETRY, DIVISION_SEEN, CLUSTER],
    '+info +llen +time +xlen',
  ],
  /** The command `dead-letters`: lists, requeues and drops them. */
  operator: [
    ...[STREAM, LIST, DEAD_LETTERS, DEPTH, `(${DEPTH} +incrby)`, DIVISION_SEEN, CLUSTER],
    '+eval +evalsha +info +lpush +time +xadd +xdel +xlen +xrange',
  ],
  /** k6 without relays: reads messages from the queue and deletes them. */
  collector: [
    ...['~arrival:messages', `(${DEPTH} +decrby)`, DIVISION_SEEN, LIST],
    '+blmpop +ping +time +xdel +xlen +xread',
  ],
  /**
   * k6: reads clock, queue and telemetry, reads and deletes trace lists. Instances of one run also write when it begins.
   */
  reader: [
    ...['%R~arrival:messages %R~arrival:{*}:messages %R~arrival:list', DIVISION_SEEN, CLUSTER],
    '%R~arrival:dead-letters %R~arrival:{*}:dead-letters %R~arrival:telemetry %R~arrival:trace:*',
    '+info +lrange +ping +time +xlen +xrange',
    `(${TRACE} +unlink)`,
    '(~arrival:run:* +eval +evalsha +expire +hdel +hget +hset)',
  ],
} as const;

export type RedisUser = keyof typeof REDIS_ACL;
export const REDIS_USERS = Object.keys(REDIS_ACL) as RedisUser[];

/** The topic prefix where k6's subscribers publish their presence. */
export const SUBSCRIBER_STATUS = 'status/subscriber/';

/** The rights of the broker's users. */
const BROKER_ACL = {
  relay: ['write messages/#', 'write status/relay/#'],
  /** k6: reads messages, writes its presence. */
  subscriber: ['read messages/#', 'read status/#', 'read $SYS/#', `write ${SUBSCRIBER_STATUS}#`],
  /** The next broker of a row. */
  bridge: ['read messages/#', 'read status/#'],
  /** The supervisor: the message that proves readiness, and presence. */
  stack: ['read messages/probe/#', 'read status/#', 'read $SYS/#'],
} as const;

export type BrokerUser = keyof typeof BROKER_ACL;
export const BROKER_USERS = Object.keys(BROKER_ACL) as BrokerUser[];

/** A password or token of 192 random bits, in characters that need no quoting. */
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

/** All roles use the one user that the address of an own server names. */
export const sameFor = <User extends string>(users: readonly User[], url: string) =>
  forEach(users, () => url);

/** Redis' ACL file. It holds hashes; a fast one is enough for random passwords. */
export function redisAclFile(passwords: Record<RedisUser, string>, prefix = PREFIX): string[] {
  const rights = (user: RedisUser) =>
    REDIS_ACL[user].join(' ').replaceAll(/~arrival:(?!run:)/g, `~${prefix}:`);
  const hash = (password: string) => createHash('sha256').update(password).digest('hex');
  return [
    // Off, so nobody can log in. But Redis reads its append-only file as this user, and without all rights it would skip
    // transactions, and so most of the queue.
    'user default reset ~* &* +@all',
    ...REDIS_USERS.map((user) => `user ${user} reset on #${hash(passwords[user])} ${rights(user)}`),
  ];
}

/** Mosquitto's ACL file. */
export function brokerAclFile(): string[] {
  return BROKER_USERS.flatMap((user) => [
    `user ${user}`,
    ...BROKER_ACL[user].map((topic) => `topic ${topic}`),
  ]);
}
