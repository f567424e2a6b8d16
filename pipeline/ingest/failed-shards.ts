import type { Problem } from '../common/readiness.ts';
import { firstOf, named, type Trouble } from '../common/trouble.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { type Refusal, unavailable } from './refusal.ts';

/** ms that a failed write is a problem at /readyz: others follow, unless nobody sends. */
const RECENT_MS = 5000;
const RETRY_AFTER_S = 1;

/** Shards whose last write failed: one node of several may be away. Requests for them are refused, and no others. */
export class FailedShards {
  readonly #queue: Pick<MessageQueue, 'away' | 'shardName'>;
  readonly #isBusy: (shard: number) => boolean;
  readonly #trouble: Pick<Trouble, 'begin' | 'end'> | undefined;
  readonly #failed = new Map<number, { name: string; problem: Problem; at: number }>();
  readonly #timers = new Map<number, NodeJS.Timeout>();

  /**
   * @param isBusy whether a write of a shard is under way: after a failure one tries the shard, and others do not wait for it
   * @param trouble of shards that take no messages. What nobody tries any more has no part in it.
   */
  constructor(
    queue: Pick<MessageQueue, 'away' | 'shardName'>,
    isBusy: (shard: number) => boolean,
    trouble?: Pick<Trouble, 'begin' | 'end'>,
  ) {
    this.#queue = queue;
    this.#isBusy = isBusy;
    this.#trouble = trouble;
  }

  /** A queue without shards has one, without a name. */
  failed(shard: number, problem: Problem): void {
    const { away } = this.#queue;
    const name = this.#queue.shardName(shard);
    if (name !== undefined) this.#failed.set(shard, { name, problem, at: performance.now() });
    // The connection logs by itself that the queue is away.
    const afterMs = away === undefined ? 0 : Number.POSITIVE_INFINITY;
    this.#trouble?.begin(problem, { name: name ?? '', part: String(shard), afterMs });
    this.#forgetLater(shard);
  }

  written(shard: number): void {
    this.#failed.delete(shard);
    this.#end(shard);
  }

  /** Ends the part of a shard that nobody has tried for a while; not in an outage, which has not ended. */
  #forgetLater(shard: number): void {
    clearTimeout(this.#timers.get(shard));
    const forget = () => {
      if (this.#isBusy(shard) || this.#queue.away !== undefined) this.#forgetLater(shard);
      else this.#end(shard);
    };
    this.#timers.set(shard, setTimeout(forget, RECENT_MS).unref());
  }

  #end(shard: number): void {
    clearTimeout(this.#timers.get(shard));
    this.#timers.delete(shard);
    this.#trouble?.end(String(shard));
  }

  /** Why messages of these shards cannot be taken; undefined: they can. */
  refusal(shards: Iterable<number>): Refusal | undefined {
    if (this.#failed.size === 0) return undefined;
    for (const shard of shards) {
      const failed = this.#failed.get(shard);
      if (failed !== undefined && this.#isBusy(shard))
        return unavailable(this.named(shard, failed.problem).problem, RETRY_AFTER_S);
    }
    return undefined;
  }

  /** A problem with the name of its shard. */
  named(shard: number, problem: Problem): Problem {
    return named([this.#queue.shardName(shard) ?? ''], problem);
  }

  /** Names the shards that failed not long ago, with the first one's reason; undefined: none did. */
  get problem(): Problem | undefined {
    const now = performance.now();
    return firstOf([...this.#failed.values()].filter(({ at }) => now - at <= RECENT_MS));
  }
}
