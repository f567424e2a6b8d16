import type { Problem } from '../common/readiness.ts';
import { named } from '../common/trouble.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { type Refusal, unavailable } from './refusal.ts';

/** ms that a failed write is a problem at /readyz: others follow, unless nobody sends. */
const RECENT_MS = 5000;
const RETRY_AFTER_S = 1;

/** Shards whose last write failed: one node of several may be away. Requests for them are refused, and no others. */
export class FailedShards {
  readonly #queue: Pick<MessageQueue, 'shardName'>;
  readonly #failed = new Map<number, { problem: Problem; at: number }>();

  constructor(queue: Pick<MessageQueue, 'shardName'>) {
    this.#queue = queue;
  }

  failed(shard: number, problem: Problem): void {
    this.#failed.set(shard, { problem, at: performance.now() });
  }

  written(shard: number): void {
    this.#failed.delete(shard);
  }

  /**
   * Why messages of these shards cannot be taken; undefined: they can.
   * @param isBusy whether a write of a shard is under way: after a failure one tries the shard, and others do not wait for it
   */
  refusal(shards: Iterable<number>, isBusy: (shard: number) => boolean): Refusal | undefined {
    if (this.#failed.size === 0) return undefined;
    for (const shard of shards) {
      const failed = this.#failed.get(shard);
      if (failed !== undefined && isBusy(shard))
        return unavailable(this.named([shard], failed.problem).problem, RETRY_AFTER_S);
    }
    return undefined;
  }

  /** A problem with the names of its shards. */
  named(shards: readonly number[], problem: Problem): Problem {
    return named(
      shards.map((shard) => this.#queue.shardName(shard) ?? ''),
      problem,
    );
  }

  /** Of the shards that failed not long ago, with the first one's reason; undefined: none did. */
  get problem(): Problem | undefined {
    const now = performance.now();
    const recent = [...this.#failed].filter(([, { at }]) => now - at <= RECENT_MS);
    const [first] = recent;
    if (first === undefined) return undefined;
    const same = recent.filter(([, { problem }]) => problem.problem === first[1].problem.problem);
    return this.named(
      same.map(([shard]) => shard),
      first[1].problem,
    );
  }
}
