import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../common/readiness.ts';
import { firstOf, named } from '../common/trouble.ts';
import type { QueueOptions } from './connection.ts';
import { LeasedShard } from './leased-shard.ts';
import { Leases } from './leases.ts';
import { problemOf } from './problems.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, messagesOf, NOTHING } from './queue.ts';
import type { Shard, StreamReader } from './shard.ts';
import type { Store } from './store.ts';

const LEASE_MS = 30_000;

/**
 * Reads shards of a stream by their leases. One relay at a time has the lease of a shard, so the order of its messages stays. It
 * reads all of its shards at once, so a node of a cluster that is away holds up no other.
 */
export class LeasedReader implements StreamReader {
  readonly #shards: readonly LeasedShard[];
  readonly #leases: Leases;
  #stopping = false;
  #news = Promise.withResolvers<void>();
  /** The shard that is asked first. */
  #turn = 0;

  constructor(store: Store, shards: readonly Shard[], { leaseMs = LEASE_MS, onLost }: QueueOptions) {
    const { keys, redis } = store;
    this.#shards = shards.map((shard, index) => new LeasedShard(shard, keys.shard(index).lease));
    this.#leases = new Leases(redis, keys.relays, this.#shards, leaseMs, {
      onTaken: () => this.#news.resolve(),
      onLost: (shard) => shard.done(onLost?.(shard.held) ?? []),
    });
  }

  get problem(): Problem | undefined {
    const { problem, ours, failure, failedShard } = this.#leases;
    if (problem !== undefined) return problem;
    const failures = ours.flatMap(({ name = '', failure }) =>
      failure === undefined ? [] : [{ name, problem: problemOf(failure) }],
    );
    if (failures.length > 0) return firstOf(failures);
    if (failure === undefined || ours.length === 0) return undefined;
    return named(failedShard === undefined ? [] : [failedShard.name ?? ''], problemOf(failure));
  }

  get shards(): number {
    return this.#leases.ours.length;
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    return this.#leases.during(consumer, () => this.#claim(consumer, count));
  }

  async #claim(consumer: string, count: number): Promise<Claim> {
    const ours = this.#stopping ? [] : this.#leases.ours;
    const share = Math.ceil(count / Math.max(1, ours.length));
    for (const shard of ours) shard.read(consumer, share, () => this.#news.resolve());
    const first = this.#take(count);
    if (first.entries.length > 0 || this.#stopping) return first;
    await Promise.race([this.#news.promise, sleep(CLAIM_WAIT_MS, undefined, { ref: false })]);
    this.#news = Promise.withResolvers();
    const claim = this.#take(count);
    const failures = ours.map(({ obstacle }) => obstacle);
    const [loss] = claim.entries.length > 0 ? [] : this.#shards.flatMap((shard) => shard.takeLoss() ?? []);
    if (loss !== undefined) throw loss;
    // One node of a cluster may be away: reject only when all shards failed.
    if (claim.entries.length === 0 && ours.length > 0 && !failures.includes(undefined)) throw failures[0];
    if (ours.length === 0 && this.#leases.failure !== undefined) throw this.#leases.failure;
    return claim;
  }

  /** Takes up to `count` messages that were read; each call begins at the next shard. */
  #take(count: number): Claim {
    const claim: Claim = { entries: [], deleted: 0 };
    const inTurn = [...this.#shards.slice(this.#turn), ...this.#shards.slice(0, this.#turn)];
    for (const shard of inTurn) {
      const { entries, deleted } = shard.take(count - messagesOf(claim.entries));
      claim.entries.push(...entries);
      claim.deleted += deleted;
    }
    this.#turn = (this.#turn + 1) % this.#shards.length;
    return claim;
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    const claim: Claim = { entries: [], deleted: 0 };
    for (const shard of this.#shards) {
      const wanted = count - messagesOf(claim.entries);
      if (wanted <= 0 || !shard.ours) continue;
      // Entries of other shards are claimed already, so a failed node must not discard them.
      const { entries, deleted } = await shard.recover(consumer, idleMs, wanted).catch(() => NOTHING);
      claim.entries.push(...entries);
      claim.deleted += deleted;
    }
    return claim;
  }

  /** Brings nothing: each shard recovers its own unseen entries before it reads on. */
  async recoverUnseen(): Promise<Claim> {
    return NOTHING;
  }

  done(shard: number, entries: readonly Pick<Entry, 'id'>[]): void {
    this.#shards[shard]?.done(entries.map(({ id }) => id));
  }

  async signOff(consumer: string): Promise<void> {
    this.#stopping = true;
    await this.#leases.signOff(consumer);
  }

  /** Lets reads in progress finish, and begins no others. */
  async interrupt(): Promise<void> {
    this.#stopping = true;
    this.#leases.keep();
    this.#news.resolve();
  }

  close(): void {
    this.#stopping = true;
    this.#leases.stop();
  }
}
