import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { type Connection, connect, openNode, type QueueOptions } from './connection.ts';
import { DeadLetters, type Letters } from './dead-letters.ts';
import type { Message } from './frame.ts';
import { type Keys, SHARDS } from './keys.ts';
import { explainRedis, UnusableRedis } from './problems.ts';

export type { QueueOptions } from './connection.ts';
export type { Message } from './frame.ts';

/**
 * `stream`: the consumer group holds claimed messages until the acknowledgement: at least once.
 * `list`: a claim removes messages from Redis: at most once when a relay dies.
 */
export type QueueKind = 'stream' | 'list';

/** Messages that were written together. A relay acknowledges them together, when all are delivered or buried. */
export interface Entry {
  /** The stream's id, which orders entries; empty in a list. Not the id of a message. */
  id: string;
  /** Its messages (frame.ts); none when another program wrote the entry without a frame. */
  frames: Buffer[];
  /** Counted attempts to deliver it, including the coming one unless it is `suspect`. */
  deliveries: number;
  /**
   * More than one relay died with it, or it broke a connection. The relay publishes it alone, so that it takes no other message
   * along, and calls {@link Queue.attempt} before each attempt; it first splits an entry of several messages.
   */
  suspect: boolean;
  /** Why it is suspect; empty: not known. */
  reason: string;
  /** Another relay held it, and may have published some of it. */
  recovered?: boolean;
}

/** A message that gets an entry of its own. */
export type Part = Pick<Entry, 'deliveries' | 'suspect' | 'reason'> & { frame: Buffer };

export interface Claim {
  entries: Entry[];
  /** Entries that were deleted from the queue while a relay held them: they are lost. */
  deleted: number;
}

/** How many messages some entries have. */
export function messagesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { frames }) => sum + frames.length, 0);
}

const TELEMETRY = 'arrival:telemetry';
const TELEMETRY_LENGTH = 20_000;
const TRACE = 'arrival:trace:';
const TRACE_LENGTH = 100_000;
const OLDEST_REDIS = 7;

/** Longest wait of one {@link Queue.claim}, in ms: it also distinguishes a silent connection from a dead one. */
export const CLAIM_WAIT_MS = 1000;

/**
 * The queue between ingest and relays, and the only code that speaks Redis. {@link openQueue} opens one.
 * It writes a command at once or rejects it; nothing waits in here.
 */
export abstract class Queue {
  abstract readonly kind: QueueKind;
  /** Where this kind keeps its messages. */
  protected abstract readonly keys: Keys;
  protected readonly redis: Connection;
  /** The node whose TIME is the reference clock: the clocks of a cluster's nodes differ. */
  readonly #timekeeper: Connection;
  readonly #options: QueueOptions;
  /** The caller closes `redis`. */
  readonly #shares: boolean;
  /** The connection of blocking reads. The first claim opens it. */
  #reader: Connection | undefined;
  #readerId: number | undefined;

  /** @param shared a connection that the caller closes; undefined: the queue opens its own */
  constructor(options: QueueOptions, shared?: Connection) {
    this.#options = options;
    this.#shares = shared !== undefined;
    this.redis = shared ?? connect(options, options.timeoutMs, options.onState);
    this.#timekeeper =
      shared === undefined && this.redis instanceof Cluster
        ? openNode(options.url, options.timeoutMs).on('error', () => {})
        : this.redis;
  }

  /** Whether commands can be written now. */
  get ready(): boolean {
    return this.redis.status === 'ready';
  }

  /**
   * Resolves once Redis answers and has loaded its data; rejects after `withinMs`. Rejects with
   * {@link UnusableRedis} when it is too old.
   */
  async whenReady(withinMs: number): Promise<void> {
    await becomeReady(this.redis, withinMs);
    const version = /^redis_version:(\S+)/m.exec(await this.redis.info('server'))?.[1] ?? 'unknown';
    if (Number.parseInt(version, 10) < OLDEST_REDIS) {
      throw new UnusableRedis(`Redis is version ${version}, allowed is ${OLDEST_REDIS}.0 or newer`);
    }
    await this.agree();
  }

  /**
   * Rejects with {@link UnusableRedis} when the queue in this Redis has another number of shards than our settings: messages
   * would wait in shards that nobody reads.
   */
  protected async agree(): Promise<void> {
    const there = await this.redis.get(SHARDS).catch((error: Error) => {
      // A user of another Redis may lack the right.
      if (error.message.startsWith('NOPERM')) return null;
      throw error;
    });
    if (there !== null) throw new UnusableRedis(otherwise(there, 1));
  }

  /**
   * Writes all messages or none, in one round trip. Resolves when Redis has acknowledged, with the depth of the
   * queue then.
   */
  abstract append(messages: readonly Message[]): Promise<number>;

  /** Messages in the queue: waiting, or (stream) with a relay and not acknowledged. */
  abstract depth(): Promise<number>;

  /** Makes sure that the consumer group is there. It starts at the oldest message. */
  abstract join(): Promise<void>;

  /**
   * Takes about `count` new messages, oldest first; waits up to {@link CLAIM_WAIT_MS} when there is none. It takes more when
   * entries hold more messages than in the claim before.
   */
  abstract claim(consumer: string, count: number): Promise<Claim>;

  /** Takes over about `count` messages that a relay has held for longer than `idleMs` without renewing them. */
  abstract recover(consumer: string, idleMs: number, count: number): Promise<Claim>;

  /** About `count` messages that Redis delivered to this consumer on a connection that broke before it read them. */
  abstract recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim>;

  /** Records the n-th attempt to deliver an entry of one message, before it is made. */
  abstract attempt(consumer: string, id: string, deliveries: number): Promise<void>;

  /** Keeps other relays from taking over these entries. */
  abstract renew(consumer: string, ids: readonly string[]): Promise<void>;

  /** Removes entries whose messages are all done. One round trip. */
  abstract acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void>;

  /** Moves an entry of one undeliverable message to the dead letters. */
  abstract bury(entry: Entry, deliveries: number, reason: string): Promise<void>;

  /**
   * Gives messages of an entry an entry of their own, at the end of the queue, where they hold up no other.
   * @param stays the entry stays with its other messages; else it is removed, as they have been delivered
   */
  abstract split(entry: Entry, parts: readonly Part[], stays: boolean): Promise<void>;

  /** Signs a consumer off. Other relays get what it still holds: at once (list) or after its lease (stream). */
  abstract signOff(consumer: string, held: readonly Entry[]): Promise<void>;

  /** The shard of an entry: one may fail while others do not. */
  shardOf(_id: string): number {
    return 0;
  }

  get deadLetters(): Letters {
    return new DeadLetters(this.redis, this.kind, this.keys);
  }

  /** How many shards this process reads. */
  get shards(): number {
    return 1;
  }

  /** Ends a waiting {@link claim}, without losing what Redis is just delivering. */
  async interrupt(): Promise<void> {
    if (this.#readerId !== undefined) await this.redis.client('UNBLOCK', this.#readerId);
  }

  /** The reference clock: Redis `TIME` in microseconds. */
  async time(): Promise<number> {
    const [seconds, micros] = await this.#timekeeper.time();
    return Number(seconds) * 1e6 + Number(micros);
  }

  /** Appends one telemetry entry; `at` in Redis-clock microseconds. The newest 20,000 are kept. */
  async record(process: string, at: number, data: object): Promise<void> {
    const fields = ['process', process, 'at', at, 'data', JSON.stringify(data)];
    await this.redis.xadd(TELEMETRY, 'MAXLEN', '~', TELEMETRY_LENGTH, '*', ...fields);
  }

  /** Adds entries of {@link Trace} to the list of a component, the newest first. The newest 100,000 are kept. */
  async trace(component: string, entries: readonly string[]): Promise<void> {
    const key = `${TRACE}${component}`;
    const replies = await this.redis
      .pipeline()
      .lpush(key, ...entries)
      .ltrim(key, 0, TRACE_LENGTH - 1)
      .exec();
    for (const [error] of replies ?? []) if (error) throw error;
  }

  /** Redis' INFO, or some sections of it. In a cluster: of the first node of the address. */
  info(...sections: string[]): Promise<string> {
    return this.#timekeeper.info(...sections);
  }

  /** Why this Redis may drop messages; undefined: it will not. */
  async evicts(): Promise<string | undefined> {
    const redis: unknown = this.redis;
    const nodes: Redis[] = redis instanceof Cluster ? redis.nodes('master') : [this.redis];
    for (const node of nodes) {
      const memory = await node.info('memory');
      const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1];
      const limited = !/^maxmemory:0\r?$/m.test(memory);
      if (!limited || policy === undefined || policy === 'noeviction') continue;
      return `maxmemory-policy is ${policy}, allowed is noeviction: any other one throws messages away`;
    }
    return undefined;
  }

  close(): void {
    this.#reader?.disconnect();
    if (this.#shares) return;
    this.#timekeeper.disconnect();
    this.redis.disconnect();
  }

  /** The connection for blocking reads. */
  protected async reader(): Promise<Connection> {
    if (this.#reader === undefined) {
      this.#reader = connect(this.#options, this.#options.timeoutMs + CLAIM_WAIT_MS);
      this.#reader.on('close', () => {
        this.#readerId = undefined;
      });
    }
    const reader = this.#reader;
    await becomeReady(reader, this.#options.timeoutMs);
    // Each reconnection has a new id.
    this.#readerId ??= await reader.client('ID');
    return reader;
  }
}

/** @param there the number of shards in Redis */
export function otherwise(there: string, wanted: number): string {
  return `its queue has ${there} shards; allowed is STREAM_SHARDS=${there}, not ${wanted} (once it is empty: DEL ${SHARDS})`;
}

/** Resolves once commands can be written; rejects after `withinMs`. */
export async function becomeReady(connection: Connection, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  let reason = 'Redis is away';
  const onError = (error: Error) => {
    reason = explainRedis(error);
  };
  connection.on('error', onError);
  try {
    while (connection.status !== 'ready') {
      if (Date.now() > deadline) throw new Error(reason);
      await sleep(5);
    }
  } finally {
    connection.off('error', onError);
  }
}
