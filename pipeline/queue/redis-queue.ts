import type { Problem } from '../common/readiness.ts';
import type { Connection } from './commands.ts';
import type { QueueOptions, Reader } from './connection.ts';
import { DeadLetters, type Letters } from './dead-letters.ts';
import { largeIn } from './entry-size.ts';
import type { Keys, QueueKeys } from './keys.ts';
import { isDisconnection, problemOf } from './problems.ts';
import {
  type Claim,
  type Entry,
  type Message,
  type MessageQueue,
  type Part,
  type QueueKind,
  type Return,
  UnusableQueue,
} from './queue.ts';
import { Store } from './store.ts';

/** A queue in Redis. The kinds differ in where they keep messages there, and how. */
export abstract class RedisQueue implements MessageQueue {
  readonly server = 'Redis';
  protected abstract readonly kind: QueueKind;
  abstract readonly keeps: boolean;
  /** The keys of the pipeline. */
  protected readonly all: QueueKeys;
  /** Where this kind keeps its messages. */
  protected abstract readonly keys: Keys;
  protected readonly redis: Connection;
  protected readonly store: Store;
  /** The caller closes the store. */
  readonly #shares: boolean;
  readonly #reader: Reader;

  /** @param store that the caller closes; undefined: the queue opens its own */
  constructor(options: QueueOptions, store?: Store) {
    this.#shares = store !== undefined;
    this.store = store ?? new Store(options);
    this.all = this.store.keys;
    this.redis = this.store.redis;
    this.#reader = this.store.reader();
  }

  get away(): Problem | undefined {
    return this.store.away;
  }

  explain(error: Error): Problem {
    return problemOf(error);
  }

  isDisconnection(error: Error): boolean {
    return isDisconnection(error);
  }

  async whenReady(withinMs: number): Promise<void> {
    await this.store.whenReady(withinMs);
    await this.agree();
  }

  /**
   * Rejects with {@link UnusableQueue} when the queue in this Redis has another number of shards than our settings: messages
   * would wait in shards that nobody reads.
   */
  protected async agree(): Promise<void> {
    const there = await this.redis.get(this.all.shards).catch((error: Error) => {
      // A user of another Redis may lack the right.
      if (error.message.startsWith('NOPERM')) return null;
      throw error;
    });
    if (there !== null) throw otherwise(there, 1, this.all);
  }

  abstract append(messages: readonly Message[]): Promise<number>;
  abstract depth(): Promise<number>;
  abstract join(): Promise<void>;
  abstract claim(consumer: string, count: number): Promise<Claim>;
  abstract recover(consumer: string, idleMs: number, count: number): Promise<Claim>;
  abstract recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim>;
  abstract attempt(consumer: string, id: string, deliveries: number): Promise<void>;
  abstract renew(consumer: string, ids: readonly string[]): Promise<void>;
  abstract acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void>;
  abstract bury(entry: Entry, deliveries: number, reason: string): Promise<void>;
  abstract split(entry: Entry, parts: readonly Part[], stays: boolean): Promise<void>;
  abstract signOff(
    consumer: string,
    held: readonly Entry[],
    onReturn?: (entries: readonly Entry[], how: Return) => void,
  ): Promise<void>;

  shardOf(_id: string): number {
    return 0;
  }

  shardFor(_target: string): number {
    return 0;
  }

  shardName(_shard: number): string | undefined {
    return undefined;
  }

  get deadLetters(): Letters {
    return new DeadLetters(this.redis, this.kind, this.keys);
  }

  get problem(): Problem | undefined {
    return undefined;
  }

  get shards(): number {
    return 1;
  }

  async interrupt(): Promise<void> {
    await this.#reader.interrupt(this.redis);
  }

  close(): void {
    this.#reader.close();
    if (!this.#shares) this.store.close();
  }

  /** Writes these values by the connection for them. */
  protected write<T>(values: readonly string[], work: (redis: Connection) => Promise<T>): Promise<T> {
    const bytes = largeIn(values);
    return bytes === 0 ? work(this.redis) : this.store.writeLarge(bytes, work);
  }

  /** The connection for blocking reads. */
  protected reader(): Promise<Connection> {
    return this.#reader.open();
  }
}

/** @param there the number of shards in Redis */
export function otherwise(there: string, wanted: number, { shards }: QueueKeys): UnusableQueue {
  return new UnusableQueue(
    `its queue has ${there} shards; allowed is STREAM_SHARDS=${there}, not ${wanted} (once it is empty: DEL ${shards})`,
  );
}
