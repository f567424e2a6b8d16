import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueOptions } from './connection.ts';
import type { DeadLetter, Letters } from './dead-letters.ts';
import type { Message } from './frame.ts';
import { type Keys, keysOf, RELAYS, SHARDS, shardOf } from './keys.ts';
import { UnusableRedis } from './problems.ts';
import { CLAIM_WAIT_MS, type Claim, type Entry, messagesOf, otherwise, type Part, Queue } from './queue.ts';
import { Shard } from './shard.ts';

const LEASE_MS = 30_000;
/** How often leases are renewed and looked for, at most: a third of them passes at least once. */
const LOOK_MS = 1000;
const NOTHING: Claim = { entries: [], deleted: 0 };

/**
 * A stream in shards, each with keys of its own that share a slot: a Redis Cluster spreads them. All messages of a target
 * go to one shard, and a shard is read by one relay at a time, which has its lease; so the order within a target stays.
 * An entry's id is `<shard>/<id in the stream>`.
 */
export class ShardedQueue extends Queue {
  readonly kind = 'stream';
  /** Of the first shard; each has its own. */
  protected readonly keys: Keys = keysOf(0);
  readonly #shards: readonly Shard[];
  readonly #leaseMs: number;
  /** Redis knows into how many shards its queue is divided, and so do we. */
  #agreed = false;
  #consumer = '';
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopping = false;
  /** How many relays there were when that was asked last. */
  #relays = 1;
  #claims = 0;
  /** When the last claim was over, on the monotonic clock, ms. */
  #claimed = 0;
  #news = Promise.withResolvers<void>();
  /** The shard that is asked first. */
  #turn = 0;

  constructor(options: QueueOptions) {
    super(options);
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    const { length } = { length: options.shards ?? 1 };
    this.#shards = Array.from({ length }, (_, index) => new Shard(options, index, this.redis));
  }

  override get shards(): number {
    return this.#ours.length;
  }

  get #ours(): Shard[] {
    return this.#shards.filter(({ ours }) => ours);
  }

  protected override async agree(): Promise<void> {
    if (this.#agreed) return;
    const wanted = String(this.#shards.length);
    let there = await this.redis.get(SHARDS);
    // Whoever may only look does not say it first.
    if (there === null) there = await this.redis.set(SHARDS, wanted, 'NX', 'GET').catch(() => null);
    if (there !== null && there !== wanted) throw new UnusableRedis(otherwise(there, this.#shards.length));
    this.#agreed = true;
  }

  /**
   * Each shard gets its messages as a whole or not at all. When one of them refuses, it rejects, though others may have
   * theirs: as after an answer that never came.
   */
  async append(messages: readonly Message[]): Promise<number> {
    await this.agree();
    const parts = Map.groupBy(messages, ({ target }) => shardOf(target, this.#shards.length));
    await everyone([...parts], async ([index, part]) => {
      const shard = this.#shard(index);
      shard.depth = await shard.stream.append(part);
    });
    return this.#sum();
  }

  async depth(): Promise<number> {
    await everyone(this.#shards, async (shard) => {
      shard.depth = await shard.stream.depth();
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
    this.#lead(consumer);
    this.#claims++;
    try {
      return await this.#claim(consumer, count);
    } finally {
      this.#claims--;
      this.#claimed = performance.now();
    }
  }

  async #claim(consumer: string, count: number): Promise<Claim> {
    const ours = this.#stopping ? [] : this.#ours;
    const share = Math.ceil(count / Math.max(1, ours.length));
    for (const shard of ours) shard.read(consumer, share, () => this.#news.resolve());
    const first = this.#take(count);
    if (first.entries.length > 0 || this.#stopping) return first;
    await Promise.race([this.#news.promise, sleep(CLAIM_WAIT_MS, undefined, { ref: false })]);
    this.#news = Promise.withResolvers();
    return this.#take(count);
  }

  async recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    const claim: Claim = { entries: [], deleted: 0 };
    for (const [index, shard] of this.#shards.entries()) {
      const wanted = count - messagesOf(claim.entries);
      if (wanted <= 0 || !shard.ours) continue;
      // What other shards gave is ours: a node that is away must not keep it.
      const { entries, deleted } = await shard.recover(consumer, idleMs, wanted).catch(() => NOTHING);
      claim.entries.push(...entries.map((entry) => labelled(entry, index)));
      claim.deleted += deleted;
    }
    return claim;
  }

  /** Each shard looks for itself, before it reads on. */
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

  async leave(consumer: string): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await everyone(this.#shards, async (shard) => {
      const held = shard.until > 0;
      shard.until = 0;
      await shard.leave(consumer);
      if (held) await this.redis.holdLease(shard.lease, consumer, 0);
    });
    await this.redis.sayPresent(RELAYS, consumer, 0);
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
        return ids.map((id) => `${index}/${id}`);
      });
      return (await Promise.all(done)).flat();
    };
    const all = this.#shards.map((_, index) => index);
    return {
      async count() {
        return (await Promise.all(all.map((index) => of(index).count()))).reduce((sum, n) => sum + n, 0);
      },
      async *list(): AsyncGenerator<DeadLetter> {
        for (const index of all) {
          for await (const dead of of(index).list()) yield { ...dead, letter: `${index}/${dead.letter}` };
        }
      },
      requeue: (letters) => change(letters, (shard, ids) => shard.requeue(ids)),
      drop: (letters) => change(letters, (shard, ids) => shard.drop(ids)),
    };
  }

  /** What is under way brings what it brings: nothing more is begun. */
  override async interrupt(): Promise<void> {
    this.#stopping = true;
    this.#news.resolve();
  }

  override close(): void {
    this.#stopping = true;
    clearTimeout(this.#timer);
    for (const { stream } of this.#shards) stream.close();
    super.close();
  }

  /** Begins to look after the leases, with the first claim. */
  #lead(consumer: string): void {
    if (this.#consumer !== '' || this.#stopping) return;
    this.#consumer = consumer;
    const look = () => {
      this.#looking = this.#look()
        // Redis is away: leases that nobody renews are over in time.
        .catch(() => {})
        .finally(() => {
          if (!this.#stopping) this.#timer = setTimeout(look, Math.min(this.#leaseMs / 3, LOOK_MS));
        });
    };
    look();
  }

  /** Renews the leases, gives up those above our share, and takes those that are free up to it. */
  async #look(): Promise<void> {
    // One that asks for nothing, for want of a broker, keeps no shard from the others.
    if (this.#claims === 0 && performance.now() - this.#claimed > this.#leaseMs) {
      await everyone(this.#ours, (shard) => this.#give(shard));
      await this.redis.sayPresent(RELAYS, this.#consumer, 0);
      return;
    }
    // Not every node of a cluster need be there.
    this.#relays = await this.redis
      .sayPresent(RELAYS, this.#consumer, this.#leaseMs)
      .catch(() => this.#relays);
    const share = Math.ceil(this.#shards.length / this.#relays);
    const renewals = everyone(this.#ours, async (shard) => {
      await this.#hold(shard);
      await shard.renew(this.#consumer);
    });
    await renewals.catch(() => {});
    for (const [n, shard] of this.#ours.entries()) {
      shard.leaving = n >= share;
      if (shard.leaving && shard.idle) await this.#give(shard).catch(() => {});
    }
    for (const shard of this.#shards) {
      if (this.#stopping || this.#ours.length >= share) break;
      if (shard.ours || !(await this.#hold(shard).catch(() => false))) continue;
      this.#news.resolve();
    }
  }

  async #give(shard: Shard): Promise<void> {
    shard.until = 0;
    await shard.giveBack();
    await this.redis.holdLease(shard.lease, this.#consumer, 0);
  }

  /** Takes the lease of a shard, or renews it; false: another relay has it. */
  async #hold(shard: Shard): Promise<boolean> {
    // Counted from before it was asked for: Redis counts from later.
    const until = performance.now() + this.#leaseMs;
    const held = await this.redis.holdLease(shard.lease, this.#consumer, this.#leaseMs);
    if (held === 1) {
      if (!shard.ours) shard.begin();
      shard.until = until;
    } else if (shard.until > 0) shard.lost();
    return held === 1;
  }

  /** What was read, up to `count`, each time from another shard first. */
  #take(count: number): Claim {
    const claim: Claim = { entries: [], deleted: 0 };
    const { length } = this.#shards;
    for (let n = 0; n < length; n++) {
      const index = (this.#turn + n) % length;
      const shard = this.#shard(index);
      for (const entry of shard.take(count - messagesOf(claim.entries)))
        claim.entries.push(labelled(entry, index));
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

const labelled = (entry: Entry, shard: number): Entry => ({ ...entry, id: `${shard}/${entry.id}` });

const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);

function withoutShard(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

/** Does something for each, at once. When all are through it rejects with the first error, if there was one. */
async function everyone<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(all.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
