import type { Problem } from '../common/readiness.ts';
import { withAdvice } from '../shared/trust.ts';
import { commandAt } from './commands.ts';

/** A problem of Redis' state, which is the same for all its clients. */
const shared = (problem: string): Problem => ({ problem, kind: 'shared' });
/** A setting of this process does not fit this Redis, until somebody changes one of them. */
const misconfigured = (problem: string): Problem => ({ problem, kind: 'misconfigured' });

const NOT_ALLOWED = 'Redis does not allow it: the ACL of this user lacks a command or a key';

const PLAIN: Record<string, Problem> = {
  OOM: shared('Redis is full: it has reached its maxmemory and takes nothing more'),
  READONLY: shared('Redis is a read-only replica: writes go to its primary'),
  NOAUTH: misconfigured('Redis wants a password'),
  WRONGPASS: misconfigured('Redis refuses this user or password'),
  LOADING: shared('Redis is still loading its data'),
  BUSY: shared('Redis is busy with a script'),
  MISCONF: shared('Redis can not write to its disk, so it takes nothing more'),
  MASTERDOWN: shared('Redis has lost its primary'),
  NOREPLICAS: shared('Redis has fewer replicas than it wants for a write'),
  CLUSTERDOWN: shared('the Redis cluster is down'),
  NOGROUP: shared('the consumer group is gone: Redis has lost its data'),
  UNBLOCKED: shared('the stream is gone: Redis has lost its data'),
  WRONGTYPE: misconfigured('a key of ours holds something else in this Redis'),
};

/** The error that ends a blocking read when Redis becomes a replica. */
const IS_FORCED = /^UNBLOCKED force unblock/;

/** The reasons that a client gives for a connection that Redis has closed. */
export const CLOSED = /^(connection closed|(read|write) (ECONNRESET|EPIPE))$/;

/** Plain words for messages without a code, which Redis' scripts and ioredis write. ioredis names its own options there. */
const WITHOUT_CODE: [says: RegExp, plain: string][] = [
  [/max retries per request/, 'the connection to Redis broke before it answered'],
  [/Connection is closed|Stream isn't writeable|Cluster isn't ready/, 'there is no connection to Redis'],
  [IS_FORCED, 'Redis has ended a read: it is a replica now (UNBLOCKED)'],
  [
    /^ERR max number of clients/,
    'Redis has as many clients as its maxclients allows, and takes no further one',
  ],
  [/^Command timed out/, 'Redis did not answer in time'],
  [/^Socket timeout/, 'Redis does not answer'],
  [/^connect ETIMEDOUT/, 'there is no connection to Redis in time; redis:// is without TLS'],
  [/^Unknown RESP type/, 'what answers there does not speak the protocol of Redis'],
  [/wrong version number|packet length too long/, 'Redis answers without TLS: redis:// would suit it'],
  [
    /before secure TLS connection/,
    'it closed the connection during the TLS handshake: redis:// is without TLS',
  ],
  [CLOSED, 'it closed the connection: is TLS (rediss://) missing, or is it another server?'],
  [/^Failed to refresh slots cache/, 'no node answers as one of a Redis Cluster'],
];

/** Errors that ioredis and the socket give to a command without a connection. */
const DISCONNECTION = new RegExp(
  [
    'max retries per request',
    'Connection is closed',
    "Stream isn't writeable",
    "Cluster isn't ready",
    '^Failed to refresh slots cache',
    '^Command timed out',
    '^Socket timeout',
    '^(connect|read|write|getaddrinfo) ',
    '^connection closed$',
  ].join('|'),
);

/** Whether a queue command failed because there was no connection, or because it broke. */
export function isDisconnection({ message }: Error): boolean {
  return DISCONNECTION.test(message);
}

/** Why there is no connection. A server that closes the first one may be something else than Redis. */
export function reasonOf(reason: string, reached: boolean): string {
  if (!reached) return explainRedis(new Error(reason));
  return CLOSED.test(reason) ? 'it closed the connection' : withAdvice(reason);
}

/** What an error of a queue command means, in one short sentence. Redis' own errors begin with a code. */
export function explainRedis(error: Error): string {
  return problemOf(error).problem;
}

/** The problem behind an error of a queue command. */
export function problemOf({ message }: Error): Problem {
  if (/^NOPERM |^ERR The user executing the script can't/.test(message))
    return misconfigured(`${NOT_ALLOWED} (${deniedOf(message)})`);
  // EXECABORT comes before the code of the cause.
  const code = /^(?:ERR |EXECABORT .*: )?([A-Z]+) /.exec(message)?.[1];
  const plain = code === undefined || IS_FORCED.test(message) ? undefined : PLAIN[code];
  if (plain !== undefined) return { ...plain, problem: `${plain.problem} (${code})` };
  return shared(WITHOUT_CODE.find(([says]) => says.test(message))?.[1] ?? withAdvice(message));
}

/** Redis' words about a missing right. For a script they do not name the command: the script's line does. */
function deniedOf(message: string): string {
  const [, words = message, sha = '', line = ''] =
    /^(?:ERR )?(.*?) script: ([0-9a-f]{40}), on @user_script:(\d+)/.exec(message) ?? [];
  const command = sha === '' ? undefined : commandAt(sha, Number(line));
  return command === undefined ? words : `${words}: ${command}`;
}
