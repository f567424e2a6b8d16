import type { Problem } from '../common/readiness.ts';
import { isCluster, type QueueOptions } from './connection.ts';
import { joined } from './dead-letters.ts';
import { shardOf } from './keys.ts';
import { LeasedReader } from './leased-reader.ts';
import type { Claim, Entry, Letters, Message, MessageQueue, SplitMessage } from './queue.ts';
import { everyone, otherwise, RedisQueue } from './redis-queue.ts';
import { Shard, type StreamReader } from './shard.ts';
import type { Store } from './store.ts';

/** Whether the stream is divided: then one relay at a time reads a shard. Else it is one shard, which all relays read. */
export function isDivided(options: QueueOptions): boolean {
  return (options.shards ?? 1) > 1 || isCluster(options);
}

/**
 * A stream of one shard or more. All messages of a target are in one shard. The keys of a shard share a slot, so a Redis Cluster
 * spreads the shards.
 */
export class StreamQueue extends RedisQueue implements MessageQueue {
  readonly keeps = true;
  readonly #isDivided: boolean;
  readonly #shards: readonly Shard[];
  /** Messages in each shard, as last reported. */
  readonly #depths: number[];
  readonly #reader: StreamReader;
  /** Redis has the same number of shards as our settings. */
  #agreed = false;

  constructor(options: QueueOptions, store?: Store) {
    super(options, store);
    const { shards: count = 1 } = options;
    this.#isDivided = isDivided(options);
    const indices = this.#isDivided ? Array.from({ length: count }, (_, index) => index) : [undefined];
    this.#shards = indices.map((index) => new Shard(this.store, index, count));
    this.#depths = this.#shards.map(() => 0);
    this.#reader = this.#isDivided ? new LeasedReader(this.store, this.#shards, options) : this.#shard(0);
  }

  get problem(): Problem | undefined {
    return this.#reader.problem;
  }

  get shards(): number {
    return this.#reader.shards;
  }

  get deadLetters(): Letters {
    return joined(this.#shards.map(({ deadLetters }) => deadLetters));
  }

  protected override async agree(): Promise<void> {
    if (this.#isDivided) await this.#agreeOnNumber();
    else await super.agree();
    this.#agreed = true;
  }

  /** Writes the number of shards if nobody has. */
  async #agreeOnNumber(): Promise<void> {
    const { shards: key } = this.all;
    const wanted = String(this.#shards.length);
    let there = await this.redis.get(key);
    if (there === null) {
      const denied = (error: Error) => {
        // A read-only user may not set it, and a full Redis does not: whoever writes a message does.
        if (/^(NOPERM|READONLY|OOM) /.test(error.message)) return null;
        throw error;
      };
      there = await this.redis.set(key, wanted, 'NX', 'GET').catch(denied);
    }
    if (there !== null && there !== wanted) throw otherwise(there, this.#shards.length, this.all);
  }

  /** Atomic in each shard, not across shards: when it rejects, other shards may have their messages. */
  async append(messages: readonly Message[]): Promise<number> {
    // Redis may have come up after whenReady gave up.
    if (!this.#agreed) await this.agree();
    const parts = this.#divide(messages, ({ target }) => this.shardFor(target));
    await everyone(parts, async ([index, part]) => {
      this.#depths[index] = await this.#shard(index).append(part);
    });
    return this.#sum();
  }

  /** A shard that does not answer has as many as it last reported; rejects when none answers. */
  async depth(): Promise<number> {
    let answers = 0;
    const asked = everyone([...this.#shards.entries()], async ([index, shard]) => {
      this.#depths[index] = await shard.depth();
      answers++;
    });
    await asked.catch((error) => {
      if (answers === 0) throw error;
    });
    return this.#sum();
  }

  async join(): Promise<void> {
    // A Redis that lost its data has forgotten the number of shards too.
    await this.agree();
    await everyone(this.#shards, (shard) => shard.join());
  }

  async claim(consumer: string, count: number): Promise<Claim> {
    if (!this.#agreed) await this.agree();
    return this.#reader.claim(consumer, count);
  }

  recover(consumer: string, idleMs: number, count: number): Promise<Claim> {
    return this.#reader.recover(consumer, idleMs, count);
  }

  recoverUnseen(consumer: string, count: number, holds: (id: string) => boolean): Promise<Claim> {
    return this.#reader.recoverUnseen(consumer, count, holds);
  }

  attempt(consumer: string, id: string, deliveries: number): Promise<void> {
    return this.#shard(this.shardOf(id)).attempt(consumer, id, deliveries);
  }

  async renew(consumer: string, ids: readonly string[]): Promise<void> {
    const parts = this.#divide(ids, (id) => this.shardOf(id));
    await everyone(parts, ([index, own]) => this.#shard(index).renew(consumer, own));
  }

  async acknowledge(entries: readonly Pick<Entry, 'id' | 'frames'>[]): Promise<void> {
    const parts = this.#divide(entries, ({ id }) => this.shardOf(id));
    await everyone(parts, async ([index, own]) => {
      await this.#shard(index).acknowledge(own);
      this.#reader.done(index, own);
    });
  }

  async bury(entry: Entry, deliveries: number, reason: string): Promise<void> {
    const index = this.shardOf(entry.id);
    await this.#shard(index).bury(entry, deliveries, reason);
    this.#reader.done(index, [entry]);
  }

  async split(entry: Entry, parts: readonly SplitMessage[], stays: boolean): Promise<void> {
    const index = this.shardOf(entry.id);
    await this.#shard(index).split(entry, parts, stays);
    if (!stays) this.#reader.done(index, [entry]);
  }

  signOff(consumer: string): Promise<void> {
    return this.#reader.signOff(consumer);
  }

  shardOf(id: string): number {
    return this.#shards.length === 1 ? 0 : Number.parseInt(id, 10);
  }

  shardFor(target: string): number {
    return this.#shards.length === 1 ? 0 : shardOf(target, this.#shards.length);
  }

  shardName(shard: number): string | undefined {
    return this.#shards[shard]?.name;
  }

  interrupt(): Promise<void> {
    return this.#reader.interrupt();
  }

  override close(): void {
    this.#reader.close();
    for (const shard of this.#shards) shard.close();
    super.close();
  }

  /** Divides messages, entries or ids among the shards. One shard gets all, at no cost. */
  #divide<T>(all: readonly T[], shardOf: (one: T) => number): [shard: number, part: readonly T[]][] {
    return this.#shards.length === 1 ? [[0, all]] : [...Map.groupBy(all, shardOf)];
  }

  #shard(index: number): Shard {
    return this.#shards[index] as Shard;
  }

  #sum(): number {
    return this.#depths.reduce((sum, depth) => sum + depth, 0);
  }
}
