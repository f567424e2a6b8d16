import { ConfigError } from '../common/config.ts';
import { isCluster, type QueueOptions } from './connection.ts';
import { ListQueue } from './list.ts';
import type { Queue, QueueKind } from './queue.ts';
import { ShardedQueue } from './sharded.ts';
import { StreamQueue } from './stream.ts';

/**
 * Opens the connection to a queue; {@link Queue.whenReady} waits for it. Throws a {@link ConfigError} for a list with
 * shards.
 */
export function openQueue(kind: QueueKind, options: QueueOptions): Queue {
  const { shards = 1 } = options;
  const divided = shards > 1 || isCluster(options);
  if (kind === 'stream') return divided ? new ShardedQueue(options) : new StreamQueue(options);
  if (!divided) return new ListQueue(options);
  throw new ConfigError(
    shards > 1
      ? `STREAM_SHARDS is ${shards}, and QUEUE is list; allowed: 1, or QUEUE=stream`
      : 'QUEUE is list, and REDIS_URL a Redis Cluster; allowed: stream',
  );
}
