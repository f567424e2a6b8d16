import { setTimeout as sleep } from 'node:timers/promises';
import { formatHops, type Hops, parseStamps } from '../hops.ts';
import type { Logger } from '../log.ts';
import { decodeFrame } from '../queue/frame.ts';
import type { Claim, Entry, Queue } from '../queue/queue.ts';
import { Acknowledger } from './acknowledger.ts';
import type { Broker, DeliveryError } from './broker.ts';

export interface RelayOptions {
  queue: Queue;
  broker: Pick<Broker, 'connected' | 'receiveMaximum' | 'publish'>;
  /** The reference clock, µs. */
  now: () => number;
  /** This relay's name in the consumer group; no other process may have it. */
  consumer: string;
  log: Logger;
  /** Messages claimed at once. */
  batch: number;
  /** Messages held at once: claimed and not acknowledged. */
  window: number;
  /** Another relay may take over a message that was held for longer (ms) without a word. */
  leaseMs: number;
  /** Attempts before a message is buried. */
  deliveries: number;
}

/** Messages since the start, by what became of them, and how many are held now. */
export interface RelayCounters {
  claimed: number;
  recovered: number;
  published: number;
  acknowledged: number;
  dead_lettered: number;
  held: number;
}

interface Held {
  entry: Entry;
  target: string;
  body: Buffer;
  claimed: number;
  /** What the ingest stamped, if it did. */
  stamps: Pick<Hops, 'received' | 'queued'> | undefined;
  /** When the lease began or was renewed last, on the monotonic clock, ms. */
  leased: number;
  /** Handed to the broker before. */
  redelivery: boolean;
}

const RETRY_MS = 50;

/**
 * Moves messages from the queue to the broker: claims in batches, publishes with a bounded window, and
 * acknowledges what the broker has taken. It claims the next batch while this one is being published.
 * A message that it holds is in one of three states: with the broker, set aside until the broker is back,
 * or delivered and about to be acknowledged.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #held = new Map<string, Held>();
  readonly #acknowledger: Acknowledger;
  /** Held while the broker is away, in the order of their claim. */
  #aside: Held[] = [];
  readonly #count = { claimed: 0, recovered: 0, published: 0, acknowledged: 0, dead_lettered: 0 };
  readonly #stopping = new AbortController();
  /** Entries may have been handed to us on a connection that broke. */
  #unseen = false;
  #running: Promise<unknown> = Promise.resolve();
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#acknowledger = new Acknowledger(options.queue, (ids) => {
      this.#count.acknowledged += ids.length;
      for (const id of ids) this.#held.delete(id);
      this.#madeRoom();
    });
  }

  get counters(): RelayCounters {
    return { ...this.#count, held: this.#held.size };
  }

  start(): void {
    this.#running = Promise.all([this.#claimLoop(), this.#leaseLoop()]);
  }

  /** The broker is there again: what was set aside goes first. */
  resume(): void {
    const aside = this.#aside;
    this.#aside = [];
    for (const held of aside) this.#publish(held);
    this.#madeRoom();
  }

  /**
   * Claims no more, and waits until what it holds is delivered and acknowledged, `graceMs` at most.
   * What is still held then stays in the queue, for another relay. Resolves with how many that are.
   */
  async stop(graceMs: number): Promise<number> {
    const deadline = performance.now() + graceMs;
    this.#stopping.abort();
    this.#madeRoom();
    await this.#options.queue.interrupt().catch(() => {});
    await Promise.race([this.#running, sleep(graceMs, undefined, { ref: false })]);
    while (this.#held.size > 0 && performance.now() < deadline) await sleep(2);
    return this.#held.size;
  }

  /** How many more messages may be claimed. */
  #freeWindow(): number {
    return Math.min(this.#options.window, this.#options.broker.receiveMaximum) - this.#held.size;
  }

  async #claimLoop(): Promise<void> {
    const { queue, broker, consumer, batch, log } = this.#options;
    const stopping = this.#stopping.signal;
    while (!stopping.aborted) {
      const room = this.#freeWindow();
      if (room <= 0 || !broker.connected) {
        this.#room = Promise.withResolvers();
        await this.#room.promise;
        continue;
      }
      const size = Math.min(batch, room);
      try {
        if (this.#unseen) {
          const claim = await queue.recoverUnseen(consumer, size, (id) => this.#held.has(id));
          this.#unseen = claim.entries.length === size;
          this.#take(claim, true);
        } else {
          this.#take(await queue.claim(consumer, size), false);
        }
      } catch (error) {
        log.debug(`claim failed: ${(error as Error).message}`);
        this.#unseen = true;
        // A Redis that lost its data lost the group too.
        await queue.join().catch(() => {});
        await sleep(RETRY_MS);
      }
    }
  }

  /** Keeps the lease of what is held, and takes over what dead relays held. */
  async #leaseLoop(): Promise<void> {
    const { queue, broker, consumer, leaseMs, batch, log } = this.#options;
    const stopping = this.#stopping.signal;
    while (!stopping.aborted) {
      try {
        const now = performance.now();
        const old = [...this.#held.values()].filter(({ leased }) => now - leased > leaseMs / 3);
        if (old.length > 0) {
          await queue.renew(
            consumer,
            old.map(({ entry }) => entry.id),
          );
          for (const held of old) held.leased = now;
        }
        const room = this.#freeWindow();
        if (broker.connected && room > 0) {
          const claim = await queue.recover(consumer, leaseMs, Math.min(batch, room));
          if (claim.entries.length > 0) log.info(`recovered ${claim.entries.length} messages`);
          this.#take(claim, true);
        }
      } catch (error) {
        log.debug(`recovery failed: ${(error as Error).message}`);
      }
      await sleep(leaseMs / 4, undefined, { signal: stopping }).catch(() => {});
    }
  }

  #take({ entries }: Claim, recovered: boolean): void {
    const claimed = this.#options.now();
    const leased = performance.now();
    this.#count[recovered ? 'recovered' : 'claimed'] += entries.length;
    for (const entry of entries) {
      if (this.#held.has(entry.id)) continue;
      try {
        if (entry.frame === undefined) throw new RangeError('the entry has no frame');
        const { target, body, stamps: text } = decodeFrame(entry.frame);
        const stamps = text === '' ? undefined : parseStamps(text);
        const held = { entry, target, body, claimed, stamps, leased, redelivery: recovered };
        this.#held.set(entry.id, held);
        if (entry.deliveries > this.#options.deliveries) this.#giveUp(held, 'no relay survived it');
        else this.#publish(held);
      } catch (error) {
        this.#bury(entry, (error as Error).message);
      }
    }
  }

  #publish(held: Held): void {
    const { entry, target, body, stamps, claimed, redelivery } = held;
    if (!this.#options.broker.connected) {
      this.#aside.push(held);
      return;
    }
    held.redelivery = true;
    const hops = stamps && formatHops({ ...stamps, claimed, published: this.#options.now() });
    this.#options.broker.publish(`messages/${target}`, body, hops, redelivery, (error) => {
      if (error !== undefined) {
        this.#failed(held, error);
        return;
      }
      this.#count.published++;
      this.#acknowledger.add(entry.id);
    });
  }

  #failed(held: Held, error: DeliveryError): void {
    if (!error.refused) {
      this.#aside.push(held);
      return;
    }
    if (held.entry.deliveries >= this.#options.deliveries) {
      this.#giveUp(held, error.message);
      return;
    }
    const delay = RETRY_MS * 2 ** held.entry.deliveries;
    held.entry.deliveries++;
    setTimeout(() => this.#publish(held), delay);
  }

  #giveUp(held: Held, reason: string): void {
    this.#bury(held.entry, reason);
  }

  #bury(entry: Entry, reason: string): void {
    const { queue, log } = this.#options;
    queue.bury(entry, reason).then(
      () => {
        this.#count.dead_lettered++;
        this.#held.delete(entry.id);
        this.#madeRoom();
        log.warn(`dead letter ${entry.id}: ${reason}`);
      },
      () => setTimeout(() => this.#bury(entry, reason), RETRY_MS),
    );
  }

  #madeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
