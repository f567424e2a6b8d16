import { parseAddress } from '../shared/address.ts';
import { ConfigError } from '../shared/config.ts';
import type { Connection } from './commands.ts';
import { becomeReady, isCluster, openNode, type QueueOptions } from './connection.ts';
import { keysOf, type QueueKeys } from './keys.ts';
import { ListQueue } from './list.ts';
import type { MessageQueue, QueueKind } from './queue.ts';
import { messagesIn } from './shard.ts';
import type { Store } from './store.ts';
import { isDivided, StreamQueue } from './stream.ts';

interface Kind {
  /**
   * Makes a queue that connects by itself.
   * @param store the caller closes it; undefined: the queue has its own
   */
  open(options: QueueOptions, store: Store | undefined): MessageQueue;
  /** It can be divided into shards, as a Redis Cluster needs. */
  divides: boolean;
  /** Counts the messages that wait in a Redis, whoever wrote them. */
  waiting(redis: Connection, keys: QueueKeys, shards: number | undefined): Promise<number>;
  /** The settings of a queue without shards. */
  settings: string;
  /** Counts the entries of a queue without shards. */
  entries(redis: Connection, keys: QueueKeys): Promise<number>;
}

/** The kinds of queue. Another one is a file, its line here, and its name in config.ts. */
const KINDS: Record<QueueKind, Kind> = {
  stream: {
    open: (options, store) => new StreamQueue(options, store),
    divides: true,
    async waiting(redis, keys, shards) {
      let count = 0;
      for (const { messages, depth } of keys.parts(shards)) {
        const entries = await redis.xlen(messages);
        if (entries > 0) count += messagesIn(entries, Number(await redis.get(depth)) || 0);
      }
      return count;
    },
    settings: 'QUEUE=stream STREAM_SHARDS=1',
    entries: (redis, keys) => redis.xlen(keys.whole.messages),
  },
  list: {
    open: (options, store) => new ListQueue(options, store),
    divides: false,
    waiting: (redis, keys) => redis.llen(keys.list),
    settings: 'QUEUE=list',
    entries: (redis, keys) => redis.llen(keys.list),
  },
};
const NAMES = Object.keys(KINDS) as QueueKind[];

/**
 * Opens the connection to a queue; {@link MessageQueue.whenReady} waits for it. Throws a {@link ConfigError} for shards of a kind that
 * has none.
 * @param store the caller closes it; undefined: the queue opens its own
 */
export function openQueue(kind: QueueKind, options: QueueOptions, store?: Store): MessageQueue {
  const { shards = 1 } = options;
  if (isCluster(options) && parseAddress('redis', options.url).database !== 0)
    throw new ConfigError(
      'REDIS_URL is a Redis Cluster, which has no database but 0; allowed: an address without one',
    );
  const { open, divides } = KINDS[kind];
  if (divides || !isDivided(options)) return open(options, store);
  const others = NAMES.filter((name) => KINDS[name].divides);
  throw new ConfigError(
    shards > 1
      ? `STREAM_SHARDS is ${shards}, and QUEUE is ${kind}; allowed: 1, or QUEUE=${others.join(', ')}`
      : `QUEUE is ${kind}, and REDIS_URL a Redis Cluster; allowed: ${others.join(', ')}`,
  );
}

/** Messages and dead letters that a former pipeline left in Redis. */
export interface Left {
  messages: number;
  deadLetters: number;
  /** The kind of queue; undefined: there are no messages. */
  kind: QueueKind | undefined;
  shards: number;
}

/** Counts messages in a queue of any kind and number of shards, and dead letters. */
export async function leftIn(url: string, timeoutMs: number, prefix?: string): Promise<Left> {
  const keys = keysOf(prefix);
  const redis = openNode(url, timeoutMs).on('error', () => {});
  try {
    await becomeReady(redis, timeoutMs);
    const division = await redis.get(keys.shards);
    const shards = division === null ? undefined : Number(division);
    let kind: QueueKind | undefined;
    let [messages, deadLetters] = [0, 0];
    for (const name of NAMES) {
      const waiting = await KINDS[name].waiting(redis, keys, shards);
      if (waiting > 0) kind = name;
      messages += waiting;
    }
    for (const part of keys.parts(shards)) deadLetters += await redis.xlen(part.deadLetters);
    return { messages, deadLetters, kind, shards: shards ?? 1 };
  } finally {
    redis.disconnect();
  }
}

/** Messages in a queue of other settings, which relays with ours would never read. */
interface Strays {
  count: number;
  settings: string;
}

/** Looks where relays without shards keep their messages. A queue in shards says so itself ({@link QueueKeys.shards}). */
export async function straysOf(
  { redis, keys }: Pick<Store, 'redis' | 'keys'>,
  kind: QueueKind,
  options: QueueOptions,
): Promise<Strays | undefined> {
  for (const name of NAMES) {
    if (name === kind && !isDivided(options)) continue;
    const { settings, entries } = KINDS[name];
    const count = await entries(redis, keys);
    if (count > 0) return { count, settings };
  }
  return undefined;
}
