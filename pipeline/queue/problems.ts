/** A Redis that cannot hold the queue, however long one waits. The message is one line. */
export class UnusableRedis extends Error {
  override readonly name = 'UnusableRedis';
}

const PLAIN: Record<string, string> = {
  OOM: 'Redis is full: it has reached its maxmemory and takes nothing more',
  READONLY: 'Redis is a read-only replica: writes go to its primary',
  NOPERM: 'Redis does not allow it: the ACL of this user lacks a command or a key',
  NOAUTH: 'Redis wants a password',
  WRONGPASS: 'Redis refuses this user or password',
  LOADING: 'Redis is still loading its data',
  BUSY: 'Redis is busy with a script',
  MISCONF: 'Redis can not write to its disk, so it takes nothing more',
  MASTERDOWN: 'Redis has lost its primary',
  NOREPLICAS: 'Redis has fewer replicas than it wants for a write',
  CLUSTERDOWN: 'the Redis cluster is down',
  NOGROUP: 'the consumer group is gone: Redis has lost its data',
  WRONGTYPE: 'a key of ours holds something else in this Redis',
};

/** ioredis' messages, which name its own options, in plain words. */
const OF_CLIENT: [says: RegExp, plain: string][] = [
  [/max retries per request/, 'the connection to Redis broke before it answered'],
  [/Connection is closed|Stream isn't writeable/, 'there is no connection to Redis'],
  [/^Command timed out/, 'Redis did not answer in time'],
];

/** What an error of a queue command means, in one short sentence. Redis' own errors begin with a code. */
export function explainRedis(error: Error): string {
  // EXECABORT stands before the code of the cause.
  const code = /^(?:ERR |EXECABORT .*: )?([A-Z]+) /.exec(error.message)?.[1];
  const plain = code === undefined ? undefined : PLAIN[code];
  if (plain !== undefined) return `${plain} (${code})`;
  return OF_CLIENT.find(([says]) => says.test(error.message))?.[1] ?? error.message;
}
