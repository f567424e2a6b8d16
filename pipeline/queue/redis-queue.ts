import type { Problem } from '../common/readiness.ts';
import type { Connection } from './commands.ts';
import type { QueueOptions } from './connection.ts';
import type { QueueKeys } from './keys.ts';
import { isDisconnection, problemOf } from './problems.ts';
import { UnusableQueue } from './queue.ts';
import { Store } from './store.ts';

/** What all kinds of queue in Redis share: the connection, and what its errors mean. */
export abstract class RedisQueue {
  readonly server = 'Redis';
  /** The keys of the pipeline. */
  protected readonly all: QueueKeys;
  protected readonly redis: Connection;
  protected readonly store: Store;
  /** The caller closes the store. */
  readonly #shares: boolean;

  /** @param store the caller closes it; undefined: the queue opens its own */
  constructor(options: QueueOptions, store?: Store) {
    this.#shares = store !== undefined;
    this.store = store ?? new Store(options);
    this.all = this.store.keys;
    this.redis = this.store.redis;
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

  close(): void {
    if (!this.#shares) this.store.close();
  }
}

/** @param there the number of shards in Redis */
export function otherwise(there: string, wanted: number, { shards }: QueueKeys): UnusableQueue {
  return new UnusableQueue(
    `its queue has ${there} shards; allowed is STREAM_SHARDS=${there}, not ${wanted} (once it is empty: DEL ${shards})`,
  );
}

/** Runs `work` for all at once and waits for all; then rejects with the first error, if any. */
export async function everyone<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(all.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
