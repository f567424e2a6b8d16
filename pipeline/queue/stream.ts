import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../common/readiness.ts';
import { firstOf, named } from '../common/trouble.ts';
import type { QueueOptions } from './connection.ts';
import type { DeadLetter, Letters } from './dead-letters.ts';
import type { Message } from './frame.ts';
import { type Keys, shardOf } from './keys.ts';
import { Shard } from './leased-shard.ts';
import { everyone, Leases } from './leases.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, messagesOf, NOTHING, type Part } from './queue.ts';
import { otherwise, RedisQueue } from './redis-queue.ts';
import type { Store } from './store.ts';

const LEASE_MS = 30_000;

/**
 * A stream in shards. The keys of a shard share a slot, so a Redis Cluster spreads the shards. All messages of a target go to
 * one shard, and one relay at a time, which holds the lease, reads a shard: the order within a target stays. An entry's id is
 * `<shard>/<id in the stream>`.
 */
export class ShardedQueue extends RedisQueue {
  protected readonly kind = 'stream';
  readonly keeps = true;
  /** The keys of the first shard. */
  protected readonly keys: Keys = this.all.shard(0);
  readonly #shards: readonly Shard[];
  readonly #leases: Leases;
  /** Redis has the same number of shards as our settings. */
  #agreed = false;
  #stopping = false;
  #news = Promise.withResolvers<void>();
  /** The shard that is asked first. */
  #turn = 0;

  constructor(options: QueueOptions, store?: Store) {
    super(options, store);
    const { shards: length = 1, leaseMs = LEASE_MS, onLost } = options;
    this.#shards = Array.from({ length }, (_, index) => new Shard(options, index, this.store));
    this.#leases = new Leases(this.redis, this.all.relays, this.#shards, leaseMs, {
      onTaken: () => this.#news.resolve(),
      onLost: (shard) => {
        const given = onLost?.(shard.held.map((id) => labelled(id, shard.index))) ?? [];
        shard.done(given.map(withoutShard));
      },
    });
  }

  override get problem(): Problem | undefined {
    const { problem: ofAll, ours, failure, failedShard } = this.#leases;
    if (ofAll !== undefined) return ofAll;
    const failures = ours.flatMap(({ index, failure }) =>
      failure === undefined ? [] : [{ name: this.shardName(index) ?? '', problem: this.explain(failure) }],
    );
    if (failures.length > 0) return firstOf(failures);
    if (failure === undefined || ours.length === 0) return undefined;
    return named(failedShard === undefined ? [] : [this.shardName(failedShard) ?? ''], this.explain(failure));
  }

  override get shards(): number {
    return this.#leases.ours.length;
  }

  protected override async agree(): Promise<void> {
    if (this.#agreed) return;
    const wanted = String(this.#shards.length);
    let there = await this.redis.get(this.all.shards);
    if (there === null) {
      const denied = (error: Error) => {
        // A read-only user may not set it, and a full Redis does not: whoever writes a message does.
        if (/^(NOPERM|READONLY|OOM) /.test(error.message)) return null;
        throw error;
      };
      there = await this.redis.set(this.all.shards, wanted, 'NX', 'GET').catch(denied);
    }
    if (there !== null && there !== wanted) throw otherwise(there, this.#shards.length, this.all);
    this.#agreed = true;
  }

  /** Atomic in each shard, not across shards: when it rejects, other shards may have their messages. */
  async append(messages: readonly Message[]): Promise<number> {
    await this.agree();
    const parts = Map.groupBy(messages, ({ target }) => this.shardFor(target));
    await everyone([...parts], async ([index, part]) => {
      const shard = this.#shard(index);
      shard.depth = await shard.stream.append(part);
    });
    return this.#sum();
  }

  /** A shard that does not answer has as many as it last reported; rejects when none answers. */
  async depth(): Promise<number> {
    let answers = 0;
    const asked = everyone(this.#shards, async (shard) => {
      shard.depth = await shard.stream.depth();
      answers++;
    });
    await asked.catch((error) => {
      if (answers === 0) throw error;
    });
    return this.#sum();
  }

  /** A Redis that lost its data has forgotten the shards too. */
  async join(): Promise<void> {
    this.#agreed = false;
    await this.agree();
    await everyone(this.#shards, ({ stream }) => stream.join());
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    await this.agree();
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
    const failures = ours.map(({ failure }) => failure);
    const [loss] = claim.entries.length > 0 ? [] : this.#shards.flatMap((shard) => shard.takeLoss() ?? []);
    if (loss !== undefined) throw loss;
    // One node of a cluster may be away: reject only when all shards failed.
    if (claim.entries.length === 0 && ours.length > 0 && !failures.includes(undefined)) throw failures[0];
    if (ours.length === 0 && this.#leases.failure !== undefined) throw this.#leases.failure;
    return claim;
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    const claim: Claim = { entries: [], deleted: 0 };
    for (const [index, shard] of this.#shards.entries()) {
      const wanted = count - messagesOf(claim.entries);
      if (wanted <= 0 || !shard.ours) continue;
      // Entries of other shards are claimed already, so a failed node must not discard them.
      const { entries, deleted } = await shard.recover(consumer, idleMs, wanted).catch(() => NOTHING);
      claim.entries.push(...entries.map((entry) => ({ ...entry, id: labelled(entry.id, index) })));
      claim.deleted += deleted;
    }
    return claim;
  }

  /** Nothing: each shard recovers its own before it reads on. */
  async recoverUnseen(): Promise<Claim> {
    return NOTHING;
  }

  attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    const { shard, own } = this.#find(id);
    return shard.stream.attempt(consumer, own, deliveries);
  }

  renew(consumer: string, ids: readonly string[]): Promise<void> {
    const labelled = ids.map((id) => ({ id }));
    return this.#byShard(labelled, (shard, own) => shard.stream.renew(consumer, idsOf(own)));
  }

  acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void> {
    return this.#byShard(entries, async (shard, own) => {
      await shard.stream.acknowledge(own);
      shard.done(idsOf(own));
    });
  }

  async bury(entry: Entry, deliveries: number, reason: string): Promise<void> {
    const { shard, own } = this.#find(entry.id);
    await shard.stream.bury({ ...entry, id: own }, deliveries, reason);
    shard.done([own]);
  }

  async split(entry: Entry, parts: readonly Part[], stays: boolean): Promise<void> {
    const { shard, own } = this.#find(entry.id);
    await shard.stream.split({ ...entry, id: own }, parts, stays);
    if (!stays) shard.done([own]);
  }

  async signOff(consumer: string): Promise<void> {
    this.#stopping = true;
    await this.#leases.signOff(consumer);
  }

  override shardOf(id: string): number {
    return Number.parseInt(id, 10);
  }

  override shardFor(target: string): number {
    return shardOf(target, this.#shards.length);
  }

  override shardName(shard: number): string | undefined {
    return this.#shards.length > 1 ? `shard ${shard}` : undefined;
  }

  override get deadLetters(): Letters {
    const of = (index: number) => this.#shard(index).stream.deadLetters;
    const change = async (
      letters: readonly string[],
      work: (letters: Letters, ids: string[]) => Promise<string[]>,
    ) => {
      const parts = Map.groupBy(letters, (letter) => Number.parseInt(letter, 10));
      const done = [...parts].map(async ([index, part]) => {
        if (this.#shards[index] === undefined) return [];
        const ids = await work(of(index), part.map(withoutShard));
        return ids.map((id) => labelled(id, index));
      });
      return (await Promise.all(done)).flat();
    };
    const all = this.#shards.map((_, index) => index);
    return {
      async count() {
        return (await Promise.all(all.map((index) => of(index).count()))).reduce((sum, n) => sum + n, 0);
      },
      async *list(idKey?: string): AsyncGenerator<DeadLetter> {
        for (const index of all) {
          for await (const dead of of(index).list(idKey))
            yield { ...dead, letter: labelled(dead.letter, index) };
        }
      },
      requeue: (letters) => change(letters, (shard, ids) => shard.requeue(ids)),
      drop: (letters) => change(letters, (shard, ids) => shard.drop(ids)),
    };
  }

  /** Lets reads in progress finish, and begins no others. */
  override async interrupt(): Promise<void> {
    this.#stopping = true;
    this.#leases.keep();
    this.#news.resolve();
  }

  override close(): void {
    this.#stopping = true;
    this.#leases.stop();
    for (const { stream } of this.#shards) stream.close();
    super.close();
  }

  /** Takes up to `count` messages that were read; each call begins at the next shard. */
  #take(count: number): Claim {
    const claim: Claim = { entries: [], deleted: 0 };
    const { length } = this.#shards;
    for (let n = 0; n < length; n++) {
      const index = (this.#turn + n) % length;
      const shard = this.#shard(index);
      for (const entry of shard.take(count - messagesOf(claim.entries)))
        claim.entries.push({ ...entry, id: labelled(entry.id, index) });
      claim.deleted += shard.deleted;
      shard.deleted = 0;
    }
    this.#turn = (this.#turn + 1) % length;
    return claim;
  }

  #shard(index: number): Shard {
    return this.#shards[index] as Shard;
  }

  #find(id: string): { shard: Shard; own: string } {
    return { shard: this.#shard(Number.parseInt(id, 10)), own: withoutShard(id) };
  }

  #byShard<T extends { id: string }>(
    entries: readonly T[],
    work: (shard: Shard, own: T[]) => Promise<void>,
  ): Promise<void> {
    const parts = Map.groupBy(entries, ({ id }) => Number.parseInt(id, 10));
    return everyone([...parts], ([index, part]) =>
      work(
        this.#shard(index),
        part.map((entry) => ({ ...entry, id: withoutShard(entry.id) })),
      ),
    );
  }

  #sum(): number {
    return this.#shards.reduce((sum, { depth }) => sum + depth, 0);
  }
}

const labelled = (id: string, shard: number) => `${shard}/${id}`;

const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);

function withoutShard(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}
