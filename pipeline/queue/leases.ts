import type { Connection } from './connection.ts';
import { RELAYS } from './keys.ts';
import type { Shard } from './shard.ts';

/** The longest interval at which leases are renewed and sought; never more than a third of a lease. */
const LOOK_MS = 1000;

interface LeaseEvents {
  /** Called when we get a shard. */
  onTaken: () => void;
  /** Called when we have lost a shard, or are about to. */
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
  /** Relays at the last look. */
  #relays = 1;
  #claims = 0;
  /** When the last claim ended, ms of the monotonic clock. */
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

  /** Runs the claim of a relay. The first call starts the renewal of leases. */
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

  /** Keeps its leases, and takes no more. */
  keep(): void {
    this.#taking = false;
  }

  /** Renews no leases any more. */
  stop(): void {
    this.#taking = false;
    this.#stopping = true;
    clearTimeout(this.#timer);
  }

  /** Gives up everything and signs off. */
  async signOff(consumer: string): Promise<void> {
    this.stop();
    await this.#looking;
    await everyone(this.#shards, async (shard) => {
      const held = shard.until > 0;
      shard.until = 0;
      await shard.signOff(consumer);
      if (held) await this.#redis.holdLease(shard.lease, consumer, 0);
    });
    await this.#redis.sayPresent(RELAYS, consumer, 0);
  }

  #begin(consumer: string): void {
    if (this.#consumer !== '' || !this.#taking) return;
    this.#consumer = consumer;
    const look = () => {
      this.#looking = this.#look()
        // Redis is away: leases end by themselves.
        .catch(() => {})
        .finally(() => {
          if (!this.#stopping) this.#timer = setTimeout(look, Math.min(this.#leaseMs / 3, LOOK_MS));
        });
    };
    look();
  }

  /** Renews the leases, gives up those above our share, and takes those that are free up to it. */
  async #look(): Promise<void> {
    // A relay that claims nothing, as its broker is away, gives its shards to the others.
    if (this.#claims === 0 && performance.now() - this.#claimed > this.#leaseMs) {
      await everyone(this.ours, (shard) => this.#give(shard));
      await this.#redis.sayPresent(RELAYS, this.#consumer, 0);
      return;
    }
    // The node that counts relays may be away.
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
    // From before the request: Redis counts from later, so ours ends first.
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

/** Runs `work` for all at once and waits for all; then rejects with the first error, if any. */
export async function everyone<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(all.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
