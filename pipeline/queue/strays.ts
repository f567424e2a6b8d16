import type { Connection } from './commands.ts';
import { isCluster, type QueueOptions } from './connection.ts';
import type { QueueKeys } from './keys.ts';
import type { QueueKind } from './queue.ts';

/** Messages in a queue of other settings, which relays with ours would never read. */
export interface Strays {
  count: number;
  settings: string;
}

/** Looks where relays without shards keep their messages. A queue in shards says so itself ({@link QueueKeys.shards}). */
export async function straysOf(
  redis: Connection,
  keys: QueueKeys,
  kind: QueueKind,
  options: QueueOptions,
): Promise<Strays | undefined> {
  const isWhole = (options.shards ?? 1) === 1 && !isCluster(options);
  const others: [isOurs: boolean, settings: string, count: () => Promise<number>][] = [
    [kind === 'stream' && isWhole, 'QUEUE=stream STREAM_SHARDS=1', () => redis.xlen(keys.whole.messages)],
    [kind === 'list', 'QUEUE=list', () => redis.llen(keys.list)],
  ];
  for (const [isOurs, settings, counted] of others) {
    const count = isOurs ? 0 : await counted();
    if (count > 0) return { count, settings };
  }
  return undefined;
}
