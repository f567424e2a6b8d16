import { readFileSync } from 'node:fs';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { nodesOf } from '../common/config.ts';

export interface QueueOptions {
  /** One address, or several nodes of a Redis Cluster: `redis://user:password@host:port,host:port`. */
  url: string;
  /** ms without an answer until the connection counts as dead, and waiting commands reject. */
  timeoutMs: number;
  /** It is a Redis Cluster, even if the address names one node only. */
  cluster?: boolean;
  /** Number of shards of the stream; 1 by default. */
  shards?: number;
  /** How long (ms) a silent relay keeps its shard; 30,000 by default. */
  leaseMs?: number;
  /** Called when Redis goes away and when it is back; `reason` is one short sentence. */
  onState?: (up: boolean, reason: string) => void;
  /**
   * Called with the entries that a relay holds of a shard that another relay takes over. Returns those that the relay
   * will not publish.
   */
  onLost?: (ids: readonly string[]) => readonly string[];
}

const script = (name: string) => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');

const scripts = {
  forgetDepth: { lua: script('forget'), numberOfKeys: 2 },
  acknowledgeEntries: { lua: script('acknowledge'), numberOfKeys: 2 },
  buryEntry: { lua: script('bury'), numberOfKeys: 3 },
  splitEntry: { lua: script('split'), numberOfKeys: 2 },
  recoverEntries: { lua: script('recover'), numberOfKeys: 1 },
  requeueLetters: { lua: script('requeue'), numberOfKeys: 3 },
  signOff: { lua: script('sign-off'), numberOfKeys: 1 },
  holdLease: { lua: script('lease'), numberOfKeys: 1 },
  sayPresent: { lua: script('present'), numberOfKeys: 1 },
};

export type RawEntry = [id: Buffer, fields: Buffer[] | null];
type Taken = [id: Buffer, fields: Buffer[], counter: number];
type Recovered = [cursor: Buffer, taken: Taken[], deleted: Buffer[]];
type Argument = Buffer | string | number;

/** Each script's file documents its keys and arguments. */
export interface Connection extends Redis {
  forgetDepth(key: string, depth: string): Promise<number>;
  acknowledgeEntries(key: string, depth: string, group: string, ...idsAndCounts: Argument[]): Promise<number>;
  buryEntry(key: string, depth: string, deadLetters: string, ...entry: Argument[]): Promise<number>;
  splitEntry(key: string, depth: string, group: string, ...entry: Argument[]): Promise<number>;
  recoverEntriesBuffer(key: string, group: string, ...from: Argument[]): Promise<Recovered>;
  requeueLetters(deadLetters: string, key: string, depth: string, ...kindAndIds: string[]): Promise<string[]>;
  signOff(key: string, group: string, consumer: string): Promise<number>;
  holdLease(key: string, relay: string, ms: number): Promise<number>;
  sayPresent(key: string, relay: string, ms: number): Promise<number>;
}

/** How often a client of a cluster refreshes its slots, in ms; a MOVED refreshes them too. */
const SLOTS_MS = 2000;

/** Whether these are the addresses of a Redis Cluster. */
export function isCluster({ url, cluster = false }: Pick<QueueOptions, 'url' | 'cluster'>): boolean {
  return cluster || nodesOf(url).length > 1;
}

/**
 * A connection without an offline queue: while it is down, commands reject at once. When it breaks or is silent for
 * `timeoutMs`, open commands reject and are not sent again.
 */
export function connect(
  options: QueueOptions,
  timeoutMs: number,
  onState?: QueueOptions['onState'],
): Connection {
  const redis = isCluster(options) ? openCluster(options, timeoutMs) : openNode(options.url, timeoutMs);
  let reason = 'connection closed';
  let up: boolean | undefined;
  const report = (now: boolean) => {
    if (now === up) return;
    up = now;
    onState?.(now, now ? 'answers' : reason);
  };
  redis.on('error', (error: Error) => {
    reason = error.message;
  });
  redis.on('ready', () => report(true));
  redis.on('close', () => report(false));
  return redis;
}

const retry = (attempt: number) => Math.min(20 * 2 ** attempt, 500);

function common(timeoutMs: number) {
  return {
    protocol: 2,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    disableClientInfo: true,
  } satisfies RedisOptions;
}

/** As {@link connect}, to the first node that the address names. */
export function openNode(url: string, timeoutMs: number): Connection {
  return new Redis(nodesOf(url)[0] as string, {
    ...common(timeoutMs),
    scripts,
    enableOfflineQueue: false,
    retryStrategy: retry,
  }) as Connection;
}

function openCluster({ url }: QueueOptions, timeoutMs: number): Connection {
  const nodes = nodesOf(url).map((node) => new URL(node));
  const { username, password, protocol } = nodes[0] as URL;
  return new Cluster(
    nodes.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 6379),
    })),
    {
      scripts,
      enableOfflineQueue: false,
      clusterRetryStrategy: retry,
      // Redis may have executed a command on a connection that broke: do not send it again.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshInterval: SLOTS_MS,
      slotsRefreshTimeout: timeoutMs,
      redisOptions: {
        ...common(timeoutMs),
        ...(username !== '' && { username: decodeURIComponent(username) }),
        ...(password !== '' && { password: decodeURIComponent(password) }),
        ...(protocol === 'rediss:' && { tls: {} }),
      },
    },
    // We use nothing that differs: no SELECT, no MULTI across slots, no command without a key for one node.
  ) as unknown as Connection;
}
