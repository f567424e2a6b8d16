import type { Connection } from './connection.ts';
import { RELAYS } from './keys.ts';
import type { Shard } from './shard.ts';

/** How often leases are renewed and looked for, at most: a third of them passes at least once. */
const LOOK_MS = 1000;

interface LeaseEvents {
  /** A shard is ours from now on. */
  onTaken: () => void;
  /** A shard is ours no more, or will not be in a moment. */
  onLost: (shard: Shard) => void;
}

/** Which shards a relay reads: takes their leases up to its share, renews them, and gives them up. */
export class Leases {
  readonly #redis: Connection;
  readonly #shards: readonly Shard[];
  readonly #leaseMs: number;
  readonly #events: LeaseEvents;
  #consumer = '';
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopping = false;
  #taking = true;
  /** How many relays there were when that was asked last. */
  #relays = 1;
  #claims = 0;
  /** When the last claim was over, on the monotonic clock, ms. */
  #claimed = 0;

  constructor(redis: Connection, shards: readonly Shard[], leaseMs: number, events: LeaseEvents) {
    this.#redis = redis;
    this.#shards = shards;
    this.#leaseMs = leaseMs;
    this.#events = events;
  }

  /** The shards that this relay reads. */
  get ours(): Shard[] {
    return this.#shards.filter(({ ours }) => ours);
  }

  /** Does something for a relay that asks for messages. The leases are looked after from the first time on. */
  async during<T>(consumer: string, work: () => Promise<T>): Promise<T> {
    this.#begin(consumer);
    this.#claims++;
    try {
      return await work();
    } finally {
      this.#claims--;
      this.#claimed = performance.now();
    }
  }

  /** Keeps what is there, and takes no more. */
  keep(): void {
    this.#taking = false;
  }

  /** Nothing is renewed any more. */
  stop(): void {
    this.#taking = false;
    this.#stopping = true;
    clearTimeout(this.#timer);
  }

  /** Gives up everything and signs off. */
  async leave(consumer: string): Promise<void> {
    this.stop();
    await this.#looking;
    await everyone(this.#shards, async (shard) => {
      const held = shard.until > 0;
      shard.until = 0;
      await shard.leave(consumer);
      if (held) await this.#redis.holdLease(shard.lease, consumer, 0);
    });
    await this.#redis.sayPresent(RELAYS, consumer, 0);
  }

  #begin(consumer: string): void {
    if (this.#consumer !== '' || !this.#taking) return;
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
      await everyone(this.ours, (shard) => this.#give(shard));
      await this.#redis.sayPresent(RELAYS, this.#consumer, 0);
      return;
    }
    // Not every node of a cluster need be there.
    this.#relays = await this.#redis
      .sayPresent(RELAYS, this.#consumer, this.#leaseMs)
      .catch(() => this.#relays);
    const share = Math.ceil(this.#shards.length / this.#relays);
    const renewals = everyone(this.ours, async (shard) => {
      await this.#hold(shard);
      await shard.renew(this.#consumer);
    });
    await renewals.catch(() => {});
    for (const [n, shard] of this.ours.entries()) {
      shard.leaving = n >= share;
      if (shard.leaving && shard.idle) await this.#give(shard).catch(() => {});
    }
    for (const shard of this.#shards) {
      if (!this.#taking || this.ours.length >= share) break;
      if (shard.ours || !(await this.#hold(shard).catch(() => false))) continue;
      this.#events.onTaken();
    }
  }

  async #give(shard: Shard): Promise<void> {
    shard.until = 0;
    this.#events.onLost(shard);
    await shard.giveBack();
    await this.#redis.holdLease(shard.lease, this.#consumer, 0);
  }

  /** Takes the lease of a shard, or renews it; false: another relay has it. */
  async #hold(shard: Shard): Promise<boolean> {
    // Counted from before it was asked for: Redis counts from later.
    const until = performance.now() + this.#leaseMs;
    const held = await this.#redis.holdLease(shard.lease, this.#consumer, this.#leaseMs);
    if (held === 1) {
      if (!shard.ours) shard.begin();
      shard.until = until;
    } else if (shard.until > 0) {
      shard.lost();
      this.#events.onLost(shard);
    }
    return held === 1;
  }
}

/** Does something for each, at once. When all are through it rejects with the first error, if there was one. */
export async function everyone<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(all.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
