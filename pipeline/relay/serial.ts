import { setTimeout as sleep } from 'node:timers/promises';
import { explainRedis } from '../queue/problems.ts';
import { type Claim, type Entry, messagesOf } from '../queue/queue.ts';
import { FIRST_FAILURE, PASSING, reasonName } from './broker.ts';
import { hold, holdEntry } from './held.ts';
import type { RelayCounters, RelayOptions } from './options.ts';
import { encodePublish, packetBound } from './packet.ts';
import { PASSING_RETRY_MS } from './undeliverable.ts';

const RETRY_MS = 50;
const BURY_RETRY_MS = 500;
/** Of the one message that is in flight. */
const PACKET_ID = 1;
/** Of a message that nobody has tried to deliver. */
const FRESH = { deliveries: 1, suspect: false, reason: '' };

/** The broker's state is in the way, not the message. */
class Passing extends Error {}

/** What the relay holds: an entry, when it was claimed (µs of the reference clock), and when its lease began (monotonic clock, ms). */
interface SerialHeld {
  entry: Entry;
  claimed: number;
  leased: number;
}

/**
 * The relay that is written first: takes one message, publishes it, waits, acknowledges it, takes the next. It is
 * here to be compared with; what it promises of a message that was accepted is the same.
 */
export class SerialRelay {
  readonly needsAcks = true;
  readonly #options: RelayOptions;
  readonly #count = { claimed: 0, recovered: 0, published: 0, acknowledged: 0, dead_lettered: 0, deleted: 0 };
  #held: Entry | undefined;
  /** Another relay is to have it. */
  #given: Entry | undefined;
  /** Ends the wait for what is in flight, with a reason when it failed. */
  #answered: ((failure?: Error) => void) | undefined;
  readonly #stopping = new AbortController();
  #unseen = false;
  #recoverAt = 0;
  #problem = '';
  /** Why the last claim failed; undefined: it did not. */
  #unclaimed: string | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  get counters(): RelayCounters {
    const held = this.#held === undefined ? 0 : messagesOf([this.#held]);
    return {
      ...this.#count,
      shards: this.#options.queue.shards,
      held,
      in_flight: this.#answered === undefined ? 0 : 1,
    };
  }

  /** Why no messages can be taken from the queue now; undefined: they can. */
  get problem(): string | undefined {
    return this.#unclaimed;
  }

  start(): void {
    this.#running = this.#loop();
  }

  resume(): void {}

  suspend(): void {
    this.#answered?.(new Error(this.#options.broker.reason));
  }

  acknowledge(_packetId: number, reasonCode: number): void {
    const Refusal = PASSING.has(reasonCode) ? Passing : Error;
    this.#answered?.(reasonCode < FIRST_FAILURE ? undefined : new Refusal(reasonName(reasonCode)));
  }

  /** Another relay is to have these entries. What waits for the broker is not published any more. */
  giveUp(ids: readonly string[]): string[] {
    const held = this.#held;
    if (held === undefined || this.#options.broker.up || !ids.includes(held.id)) return [];
    this.#given = held;
    return [held.id];
  }

  async stop(graceMs: number): Promise<Entry[]> {
    this.#stopping.abort();
    await this.#options.queue.interrupt().catch(() => {});
    await Promise.race([this.#running, sleep(graceMs, undefined, { ref: false })]);
    return this.#held === undefined ? [] : [this.#held];
  }

  async #loop(): Promise<void> {
    const { broker } = this.#options;
    while (!this.#stopping.signal.aborted) {
      if (!broker.up) {
        await sleep(RETRY_MS);
        continue;
      }
      try {
        const { entries, deleted } = await this.#next();
        this.#unclaimed = undefined;
        this.#count.deleted += deleted;
        for (const entry of entries) await this.#relay(entry);
        this.#problem = '';
      } catch (error) {
        this.#tell(error as Error);
        this.#unclaimed = explainRedis(error as Error);
        this.#unseen = true;
        await this.#options.queue.join().catch(() => {});
        await sleep(RETRY_MS);
      }
    }
  }

  async #next(): Promise<Claim> {
    const { queue, consumer, leaseMs } = this.#options;
    if (this.#unseen) {
      const claim = await queue.recoverUnseen(consumer, 1, () => false);
      this.#unseen = claim.entries.length > 0;
      return claim;
    }
    if (performance.now() >= this.#recoverAt) {
      const claim = await queue.recover(consumer, leaseMs, 1);
      this.#counted(claim);
      if (claim.entries.length > 0) return claim;
      this.#recoverAt = performance.now() + leaseMs / 4;
    }
    const claim = await queue.claim(consumer, 1);
    return this.#counted(claim);
  }

  #counted(claim: Claim): Claim {
    for (const entry of claim.entries) {
      this.#count[entry.recovered ? 'recovered' : 'claimed'] += messagesOf([entry]);
    }
    return claim;
  }

  /** Ends when all messages of the entry are delivered, buried, have entries of their own or are another relay's, or with the relay. */
  async #relay(entry: Entry): Promise<void> {
    const held = { entry, claimed: this.#options.now(), leased: performance.now() };
    const { frames } = entry;
    this.#held = entry;
    // One without a frame is buried as if it were a message.
    const size = Math.max(1, frames.length);
    let delivered = 0;
    let index = 0;
    while (index < size && (index === 0 || !this.#stopping.signal.aborted)) {
      const end = await this.#deliver(held, index);
      if (end === 'stopped') break;
      index++;
      if (end === 'delivered') delivered++;
      // An entry of one message has left the queue with that.
      else if (size === 1) {
        this.#held = undefined;
        return;
      }
    }
    if (this.#given === entry) this.#held = undefined;
    if (index === 0 || this.#given === entry) return;
    const rest = frames.slice(index).map((frame) => ({ ...FRESH, frame }));
    const told = await this.#untilDone(() =>
      rest.length > 0
        ? this.#options.queue.split(entry, rest, false)
        : this.#options.queue.acknowledge([entry]),
    );
    if (!told) return;
    this.#count.acknowledged += delivered;
    this.#held = undefined;
  }

  /**
   * Redis may be away. What it is to be told has happened: forgetting it would deliver messages twice. Resolves with false when
   * the relay ends before Redis knows.
   */
  async #untilDone(tell: () => Promise<void>): Promise<boolean> {
    while (true) {
      try {
        await tell();
        return true;
      } catch (error) {
        this.#tell(error as Error);
        if (this.#stopping.signal.aborted) return false;
        await sleep(RETRY_MS);
      }
    }
  }

  /** What becomes of a message: `moved` is buried, or in an entry of its own; `stopped` is nothing: the relay ends, or another one has it. */
  async #deliver(held: SerialHeld, index: number): Promise<'delivered' | 'moved' | 'stopped'> {
    const { queue, broker, consumer, deliveries, leaseMs, log } = this.#options;
    const { entry } = held;
    const frame = entry.frames[index];
    const stopping = this.#stopping.signal;
    let attempts = entry.deliveries;
    let reason = entry.reason;
    for (;;) {
      if (this.#given === entry) return 'stopped';
      if (performance.now() - held.leased > leaseMs / 3) {
        // What is done of it is not noted: a lease that is not renewed in time costs duplicates.
        await queue.renew(consumer, [entry.id]).catch((error) => this.#tell(error));
        held.leased = performance.now();
      }
      if (!broker.up) {
        if (stopping.aborted) return 'stopped';
        await sleep(RETRY_MS);
        continue;
      }
      if (attempts > deliveries) {
        try {
          await queue.bury(entry, deliveries, reason || 'no relay survived it');
        } catch (error) {
          // A list has it no more: it is tried until it is done, or given back by the relay's stop.
          this.#tell(error as Error);
          if (stopping.aborted) return 'stopped';
          await sleep(BURY_RETRY_MS);
          continue;
        }
        this.#count.dead_lettered++;
        log.warn(`dead letter after ${deliveries} attempts: ${reason}`);
        return 'moved';
      }
      try {
        await this.#publish(held, index, attempts > 1 || entry.recovered === true);
        this.#count.published++;
        return 'delivered';
      } catch (error) {
        reason = (error as Error).message;
        if (error instanceof Passing) {
          this.#tell(new Error(`the broker takes nothing for now: ${reason}`));
          // No longer than the lease can wait for its renewal.
          const wait = sleep(Math.min(PASSING_RETRY_MS, leaseMs / 3), undefined, { signal: stopping });
          await wait.catch(() => {});
          if (stopping.aborted) return 'stopped';
          continue;
        }
        attempts = error instanceof RangeError ? deliveries + 1 : attempts + 1;
        if (frame !== undefined && entry.frames.length > 1) {
          const part = { frame, deliveries: attempts, suspect: false, reason };
          return (await this.#untilDone(() => queue.split(entry, [part], true))) ? 'moved' : 'stopped';
        }
        await queue.attempt(consumer, entry.id, attempts).catch(() => {});
        await sleep(RETRY_MS);
      }
    }
  }

  async #publish({ entry, claimed, leased }: SerialHeld, index: number, redelivery: boolean): Promise<void> {
    const { broker, qos, timeoutMs, onPublished, now } = this.#options;
    const held = hold(holdEntry(entry, { claimed, leased, entries: [], open: 1 }), index, redelivery);
    held.packetId = PACKET_ID;
    const published = now();
    const packet = Buffer.allocUnsafe(packetBound(held));
    const length = encodePublish(packet, 0, held, qos, published);
    const largest = broker.maximumPacketSize;
    if (length > largest)
      throw new RangeError(`a packet of ${length} bytes, and the broker takes ${largest} at most`);
    onPublished?.(held.frame.subarray(held.stampsEnd + 1), published);
    const deadline = setTimeout(() => broker.break(`no PUBACK for ${timeoutMs} ms`), timeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        const answered = (failure?: Error) => {
          if (failure === undefined) resolve();
          else reject(failure);
        };
        this.#answered = answered;
        broker.write(
          packet.subarray(0, length),
          qos === 0 ? (error) => answered(error ?? undefined) : undefined,
        );
      });
    } finally {
      clearTimeout(deadline);
      this.#answered = undefined;
    }
  }

  #tell(error: Error): void {
    const problem = explainRedis(error);
    if (problem !== this.#problem) this.#options.log.warn(problem);
    this.#problem = problem;
  }
}
