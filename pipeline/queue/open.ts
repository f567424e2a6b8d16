import { parseAddress } from '../common/address.ts';
import { ConfigError } from '../common/config.ts';
import type { Connection } from './commands.ts';
import { isCluster, type QueueOptions } from './connection.ts';
import type { QueueKeys } from './keys.ts';
import { ListQueue } from './list.ts';
import type { MessageQueue, QueueKind } from './queue.ts';
import { StreamQueue, waitingIn } from './shard.ts';
import type { Store } from './store.ts';
import { ShardedQueue } from './stream.ts';

interface Kind {
  /**
   * Makes a queue that connects by itself.
   * @param store that the caller closes; undefined: the queue has its own
   */
  open(options: QueueOptions, store: Store | undefined): MessageQueue;
  /** It can be divided into shards, as a Redis Cluster needs. */
  divides: boolean;
  /** Counts the messages that wait in a Redis, whoever wrote them. */
  waiting(redis: Connection, keys: QueueKeys, shards: number | undefined): Promise<number>;
}

/** The kinds of queue. Another one is a file, its line here, and its name in config.ts. */
export const KINDS: Record<QueueKind, Kind> = {
  stream: {
    open: (options, store) =>
      isDivided(options) ? new ShardedQueue(options, store) : new StreamQueue(options, store),
    divides: true,
    waiting: waitingIn,
  },
  list: {
    open: (options, store) => new ListQueue(options, store),
    divides: false,
    waiting: (redis, keys) => redis.llen(keys.list),
  },
};

/**
 * Opens the connection to a queue; {@link MessageQueue.whenReady} waits for it. Throws a {@link ConfigError} for shards of a kind that
 * has none.
 * @param store that the caller closes; undefined: the queue opens its own
 */
export function openQueue(kind: QueueKind, options: QueueOptions, store?: Store): MessageQueue {
  const { shards = 1 } = options;
  if (isCluster(options) && parseAddress('redis', options.url).database !== 0)
    throw new ConfigError(
      'REDIS_URL is a Redis Cluster, which has no database but 0; allowed: an address without one',
    );
  const { open, divides } = KINDS[kind];
  if (divides || !isDivided(options)) return open(options, store);
  const others = Object.entries(KINDS).flatMap(([name, { divides }]) => (divides ? [name] : []));
  throw new ConfigError(
    shards > 1
      ? `STREAM_SHARDS is ${shards}, and QUEUE is ${kind}; allowed: 1, or QUEUE=${others.join(', ')}`
      : `QUEUE is ${kind}, and REDIS_URL a Redis Cluster; allowed: ${others.join(', ')}`,
  );
}

function isDivided(options: QueueOptions): boolean {
  return (options.shards ?? 1) > 1 || isCluster(options);
}
