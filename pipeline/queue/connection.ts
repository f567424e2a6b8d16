import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisOptions as ClientOptions, Cluster, Redis } from 'ioredis';
import { type Address, isSecure, parseAddress } from '../shared/address.ts';
import { type Connection, scripts } from './commands.ts';
import { CLOSED, explainRedis } from './problems.ts';
import { CLAIM_WAIT_MS } from './queue.ts';

export interface RedisOptions {
  /** One address, or several nodes of a Redis Cluster: `redis://user:password@host:port,host:port`. */
  url: string;
  /** ms without an answer until the connection counts as dead, and waiting commands reject. */
  timeoutMs: number;
  /** It is a Redis Cluster, even if the address names one node only. */
  cluster?: boolean;
  /** The prefix of the keys in Redis; `arrival` by default. */
  prefix?: string;
  /**
   * Called when a connection is there, and when one ends or is not made. `reason` is one short sentence; undefined: we have ended
   * it for a new one.
   */
  onState?: (up: boolean, reason: string | undefined) => void;
}

export interface QueueOptions extends RedisOptions {
  /** Number of shards of the stream; 1 by default. */
  shards?: number;
  /** How long (ms) a silent relay keeps its shard; 30,000 by default. */
  leaseMs?: number;
  /**
   * Called with the entries that a relay holds of a shard that another relay takes over. Returns those that the relay
   * will not publish.
   */
  onLost?: (ids: readonly string[]) => readonly string[];
}

/** How often a client of a cluster refreshes its slots, in ms; a MOVED refreshes them too. */
const SLOTS_MS = 2000;

/** Whether these are the addresses of a Redis Cluster. */
export function isCluster({ url, cluster = false }: Pick<RedisOptions, 'url' | 'cluster'>): boolean {
  return cluster || parseAddress('redis', url).nodes.length > 1;
}

/**
 * A connection without an offline queue: while it is down, commands reject at once. When it breaks or is silent for
 * `timeoutMs`, open commands reject and are not sent again.
 */
export function connect(
  options: RedisOptions,
  timeoutMs: number,
  onState?: RedisOptions['onState'],
): Connection {
  const redis = isCluster(options) ? openCluster(options, timeoutMs) : openNode(options.url, timeoutMs);
  /** The first error of this connection: later ones follow from it. */
  let reason: string | undefined;
  redis.on('error', (error: Failure) => {
    reason ??= messageOf(error);
  });
  redis.on('ready', () => {
    reason = undefined;
    onState?.(true, undefined);
  });
  redis.on('close', () => {
    onState?.(false, isRenewed(redis) ? undefined : (reason ?? 'connection closed'));
    reason = undefined;
  });
  return redis;
}

/** The error of a cluster contains the error of its last node; the error of a name contains those of its addresses. */
interface Failure extends Error {
  lastNodeError?: Error | null;
  errors?: Error[];
}

const messageOf = ({ message, lastNodeError, errors }: Failure): string =>
  lastNodeError?.message ?? errors?.map((error) => error.message).join(', ') ?? message;

const retry = (attempt: number) => Math.min(20 * 2 ** attempt, 500);

/**
 * Errors of a server that is not, or no longer, the right one: its address may lead to another one by now. READONLY is not among
 * them: process.ts sees the role within a second, and reconnects.
 */
const WRONG_SERVER = /^(MOVED|CLUSTERDOWN|MASTERDOWN|LOADING|MISCONF) /;
const LOADING = new Error('LOADING Redis is loading its data');
/** ms for which Redis may load its data until its address is looked up again. */
const LOADING_MS = 2000;
/** ms between ioredis' looks whether Redis still loads its data. */
const LOOK_MS = 200;

function common(timeoutMs: number) {
  return {
    protocol: 2,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    maxLoadingRetryTime: LOOK_MS,
    disableClientInfo: true,
  } satisfies ClientOptions;
}

/** Options for the user that the address names, and for TLS. */
function identity(address: Address) {
  const { username, password } = address;
  return {
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    ...(isSecure(address) && { tls: {} }),
  };
}

/** Connects as {@link connect} does, to the first node that the address names. */
export function openNode(url: string, timeoutMs: number): Connection {
  const address = parseAddress('redis', url);
  let loads = false;
  const redis = new Redis({
    ...address.nodes[0],
    db: address.database,
    ...identity(address),
    ...common(timeoutMs),
    scripts,
    enableOfflineQueue: false,
    // The looks of ioredis would go on for each connection, unless they find none.
    retryStrategy: (attempt) => (loads ? 2 * LOOK_MS : retry(attempt)),
    reconnectOnError: (error) => {
      // Afterwards, so that the command rejects with the answer, and not with a lost connection.
      if (WRONG_SERVER.test(error.message)) setImmediate(renew, redis);
      return false;
    },
  });
  let look: NodeJS.Timeout | undefined;
  redis.on('connect', () => {
    loads = false;
    look = setInterval(async () => {
      const info = await redis.info('persistence').catch(() => '');
      loads = redis.status === 'connect' && /^loading:1/m.test(info);
      if (!loads) return;
      redis.emit('error', LOADING);
      redis.disconnect(true);
    }, LOADING_MS);
  });
  for (const event of ['ready', 'close']) redis.on(event, () => clearInterval(look));
  return redis as Connection;
}

function openCluster({ url }: RedisOptions, timeoutMs: number): Connection {
  const address = parseAddress('redis', url);
  const cluster = new Cluster(address.nodes, {
    scripts,
    enableOfflineQueue: false,
    clusterRetryStrategy: retry,
    // Redis may have executed a command on a connection that broke: do not send it again.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: timeoutMs,
    redisOptions: {
      ...common(timeoutMs),
      ...identity(address),
    },
  });
  // This replaces slotsRefreshInterval: a client closed during a refresh would go on refreshing, and its process never end.
  const refresh = setInterval(() => {
    if (cluster.status === 'ready') cluster.refreshSlotsCache();
  }, SLOTS_MS);
  refresh.unref(); // a client that is closed while it has no node never comes to its end
  cluster.once('end', () => clearInterval(refresh));
  // We use nothing that differs: no SELECT, no MULTI across slots, no command without a key for one node.
  return cluster as unknown as Connection;
}

/** Resolves once commands can be written; rejects after `withinMs`. */
export async function becomeReady(connection: Connection, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  let reason = 'Redis is away';
  let known = false;
  const onError = (error: Error) => {
    // That the connection was closed mostly follows from what was said before.
    const isClosed = CLOSED.test(error.message);
    if (known && isClosed) return;
    known ||= !isClosed;
    reason = explainRedis(error);
  };
  connection.on('error', onError);
  try {
    while (connection.status !== 'ready') {
      // One that was closed stays closed.
      if (connection.status === 'end' || Date.now() > deadline) throw new Error(reason);
      await sleep(5);
    }
  } finally {
    connection.off('error', onError);
  }
}

/** ms between two renewals of a connection, at least. */
const RENEW_EVERY_MS = 1000;

const lastRenewals = new WeakMap<object, number>();
const renewed = new WeakSet<object>();

/**
 * Closes a connection for a new one, at most once a second: its server is the wrong one, and the address may lead to another one
 * by now. Open commands reject.
 */
export function renew(redis: Redis): void {
  // While it connects, it looks the address up by itself; and a client of a cluster without a node would never come back.
  if (redis.status !== 'ready' && redis.status !== 'connect') return;
  const now = performance.now();
  if (now - (lastRenewals.get(redis) ?? Number.NEGATIVE_INFINITY) < RENEW_EVERY_MS) return;
  lastRenewals.set(redis, now);
  renewed.add(redis);
  redis.disconnect(true);
}

/** Whether {@link renew} has closed it, and not the server. It says so once for each close. */
const isRenewed = (redis: Redis): boolean => renewed.delete(redis);

/** A connection for blocking reads. The first read opens it. */
export class Reader {
  readonly #options: RedisOptions;
  #connection: Connection | undefined;
  #id: number | undefined;
  #closed = false;

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Resolves with the connection once it is up; rejects when it is closed. */
  async open(): Promise<Connection> {
    if (this.#closed) throw new Error('connection closed');
    const { timeoutMs } = this.#options;
    if (this.#connection === undefined) {
      this.#connection = connect(this.#options, timeoutMs + CLAIM_WAIT_MS);
      this.#connection.on('close', () => {
        this.#id = undefined;
      });
    }
    const connection = this.#connection;
    await becomeReady(connection, timeoutMs);
    // Each reconnection has a new id.
    this.#id ??= await connection.client('ID');
    return connection;
  }

  /**
   * Ends a read that waits, without losing what Redis is just delivering.
   * @param by another connection
   */
  async interrupt(by: Connection): Promise<void> {
    if (this.#id !== undefined) await by.client('UNBLOCK', this.#id);
  }

  renew(): void {
    if (this.#connection !== undefined) renew(this.#connection);
  }

  close(): void {
    this.#closed = true;
    this.#connection?.disconnect();
  }
}
