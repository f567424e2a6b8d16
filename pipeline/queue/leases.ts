import type { Problem } from '../common/readiness.ts';
import type { Connection } from './commands.ts';
import type { LeasedShard } from './leased-shard.ts';
import { problemOf } from './problems.ts';
import { everyone } from './redis-queue.ts';
import { Silence } from './silence.ts';

/** ms between looks, which renew and take leases; less if a third of a lease is less. */
const LOOK_MS = 1000;

interface LeaseEvents {
  /** Called when we get a shard. */
  onTaken: () => void;
  /** Called when we have lost a shard, or are about to. */
  onLost: (shard: LeasedShard) => void;
}

/** The shards that a relay reads: it takes their leases up to its share, renews them, and gives them up. */
export class Leases {
  readonly #redis: Connection;
  readonly #relaysKey: string;
  readonly #shards: readonly LeasedShard[];
  readonly #leaseMs: number;
  readonly #events: LeaseEvents;
  #consumer = '';
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopping = false;
  #taking = true;
  /** Relays at the last look, and how many of them have a name before ours. */
  #relays = 1;
  #before = 0;
  /** Our signs of life: each renewal of a lease, and of our presence, has another number. */
  #signs = 0;
  /** Leases of others, and relays, that have not been renewed. */
  readonly #silence = new Silence();
  /** Relays that are gone, with their last signs: the next look removes them. */
  #gone: string[] = [];
  #failure: Error | undefined;
  #failedShard: LeasedShard | undefined;
  /** Others had all shards that it asked for at the last look; undefined: before the first. */
  #refused: boolean | undefined;
  #claims = 0;
  /** When the last claim ended, ms of the monotonic clock. */
  #claimed = 0;

  /** @param relays the key of the relays */
  constructor(
    redis: Connection,
    relays: string,
    shards: readonly LeasedShard[],
    leaseMs: number,
    events: LeaseEvents,
  ) {
    this.#redis = redis;
    this.#relaysKey = relays;
    this.#shards = shards;
    this.#leaseMs = leaseMs;
    this.#events = events;
  }

  /** The shards that this relay reads. */
  get ours(): LeasedShard[] {
    return this.#shards.filter(({ ours }) => ours);
  }

  /** Why leases could not be renewed or taken at the last look; undefined: they could. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The shard of {@link failure}; undefined: all. */
  get failedShard(): LeasedShard | undefined {
    return this.#failedShard;
  }

  /** Why the relay reads nothing, though it could; undefined: it reads a shard, or is one relay too many. */
  get problem(): Problem | undefined {
    if (this.#consumer === '' || this.ours.length > 0) return undefined;
    if (this.#failure !== undefined) return problemOf(this.#failure);
    if (this.#refused === undefined)
      return { problem: 'it has not looked for a shard yet', kind: 'starting' };
    if (!this.#refused) return undefined;
    if (this.#relays > this.#shards.length) return undefined;
    return {
      problem: `no shard is this relay's yet: others hold all ${this.#shards.length}`,
      kind: 'starting',
    };
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
      if (held) await this.#redis.holdLease(shard.lease, consumer, 0, '');
    });
    await this.#redis.sayPresent(this.#relaysKey, consumer, 0);
  }

  #begin(consumer: string): void {
    if (this.#consumer !== '' || !this.#taking) return;
    this.#consumer = consumer;
    const look = () => {
      this.#looking = this.#look()
        // Without renewals our leases end by themselves: others take them over.
        .catch((error: Error) => {
          this.#failure = error;
        })
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
      this.#refused = false;
      await everyone(this.ours, (shard) => this.#give(shard));
      await this.#redis.sayPresent(this.#relaysKey, this.#consumer, 0);
      return;
    }
    // One node of a cluster may be away, and its leases with it. Hold on to the others.
    let failure: Error | undefined;
    let failed: LeasedShard | undefined;
    const noted = (error: Error, shard?: LeasedShard) => {
      failure = error;
      failed = shard;
    };
    await this.#count().catch(noted);
    const share = shareOf(this.#shards.length, this.#relays, this.#before);
    const renew = async (shard: LeasedShard) => {
      await this.#hold(shard);
      await shard.renew(this.#consumer);
    };
    await everyone(this.ours, (shard) => renew(shard).catch((error) => noted(error, shard)));
    for (const [n, shard] of this.ours.entries()) {
      shard.leaving = n >= share;
      if (shard.leaving && shard.idle) await this.#give(shard).catch((error) => noted(error, shard));
    }
    for (const shard of this.#shards) {
      if (!this.#taking || this.ours.length >= share) break;
      if (shard.ours) continue;
      const held = this.#hold(shard).catch((error: Error) => {
        noted(error, shard);
        return false;
      });
      if (await held) this.#events.onTaken();
    }
    this.#failure = failure;
    this.#failedShard = failed;
    this.#refused = this.#taking && this.ours.length === 0;
  }

  /** Records our presence, and counts the relays that are present. */
  async #count(): Promise<void> {
    const sign = ++this.#signs;
    const flat = await this.#redis.sayPresent(this.#relaysKey, this.#consumer, sign, ...this.#gone);
    this.#gone = [];
    const others: string[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [name, last] = [flat[i] as string, flat[i + 1] as string];
      if (name === this.#consumer) continue;
      if (this.#silence.ms(name, last) < this.#leaseMs) others.push(name);
      else this.#gone.push(name, last);
    }
    this.#relays = 1 + others.length;
    this.#before = others.filter((name) => name < this.#consumer).length;
  }

  async #give(shard: LeasedShard): Promise<void> {
    shard.until = 0;
    this.#events.onLost(shard);
    await shard.giveBack();
    await this.#redis.holdLease(shard.lease, this.#consumer, 0, '');
  }

  /** Takes the lease of a shard, or renews it; false: another relay has it. */
  async #hold(shard: LeasedShard): Promise<boolean> {
    // The lease counts from before the request, and others count from when they see it, so ours ends first.
    const until = performance.now() + this.#leaseMs;
    const ask = (stale: string) => this.#redis.holdLease(shard.lease, this.#consumer, ++this.#signs, stale);
    let other = await ask('');
    if (other !== '' && this.#silence.ms(shard.lease, other) >= this.#leaseMs) other = await ask(other);
    const held = other === '';
    if (held) {
      if (!shard.ours) shard.begin();
      shard.until = until;
    } else if (shard.until > 0) {
      shard.lost();
      this.#events.onLost(shard);
    }
    return held;
  }
}

/**
 * The number of shards that a relay may have; `before` relays have a name before its own. All have as many, and where the
 * shards do not divide evenly, the first relays have one more. If each could have one more, the last would have none.
 */
export function shareOf(shards: number, relays: number, before: number): number {
  // One relay too many waits for a shard, and takes nobody's.
  if (relays >= shards) return 1;
  return Math.floor(shards / relays) + (before < shards % relays ? 1 : 0);
}
