import { ReplyError } from 'ioredis';
import type { Connection } from './commands.ts';

type Result = [error: Error | null, result?: unknown];

/** Runs commands in transactions of Redis. */
export class Transactions {
  /** Redis has refused the last one, and run its commands one by one. */
  #refused = false;

  /**
   * Resolves with the results of these commands once Redis has run them, one after the other; rejects when it has run none. A user
   * without the right to MULTI may still run the others: those of the first transaction are run, and of no further one.
   */
  async run(redis: Connection, commands: unknown[][]): Promise<Result[]> {
    if (this.#refused) await this.#try(redis);
    const all = [['multi'], ...commands, ['exec']];
    const replies = ((await redis.pipeline(all).exec()) ?? []) as Result[];
    const [begun, [failure, results] = [null]] = [replies[0]?.[0], replies.at(-1)];
    this.#refused = begun instanceof ReplyError;
    if (this.#refused) return replies.slice(1, -1);
    // The first error is the reason for that of EXEC: Redis is full, or a replica.
    if (failure) throw replies.find(([error]) => error)?.[0];
    return (results as unknown[]).map((result) => (result instanceof Error ? [result] : [null, result]));
  }

  /** Rejects while Redis refuses transactions. */
  async #try(redis: Connection): Promise<void> {
    await redis
      .multi()
      .exec()
      .catch((error) => {
        // The error of EXEC says only that there was no MULTI.
        throw error.previousErrors?.[0] ?? error;
      });
    this.#refused = false;
  }
}
