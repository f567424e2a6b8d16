import { setTimeout as sleep } from 'node:timers/promises';
import type { Durations } from '../common/durations.ts';
import { explainRedis } from '../queue/problems.ts';
import { type Claim, type Entry, messagesOf } from '../queue/queue.ts';
import { Acknowledger } from './acknowledger.ts';
import { type Held, type HeldEntry, hold } from './held.ts';
import { Holdings } from './holdings.ts';
import { type RelayCounters, type RelayOptions, relayDurations } from './options.ts';
import { Publisher } from './publisher.ts';
import { Undeliverable } from './undeliverable.ts';

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
const RENEW_AT_ONCE = 1000;

/**
 * Moves messages from the queue to the broker: claims batches, publishes with a bounded window, and acknowledges delivered
 * entries. It claims the next batch while it publishes. With `serial` it is the simple loop, to compare with: take one
 * message, publish it, wait, acknowledge it.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #publisher: Publisher;
  readonly #undeliverable: Undeliverable;
  readonly #acknowledger: Acknowledger;
  readonly #holdings = new Holdings();
  readonly #count = { claimed: 0, recovered: 0, published: 0, acknowledged: 0, dead_lettered: 0, deleted: 0 };
  readonly #durations = relayDurations();
  readonly #stopping = new AbortController();
  /** Redis may have delivered entries to us on a connection that broke. */
  #unseen = false;
  #running: Promise<unknown> = Promise.resolve();
  #recovery: Promise<void> = Promise.resolve();
  #wanted: PromiseWithResolvers<void> | undefined;
  #problem = '';
  /** Why the last claim, or the last renewal of leases, failed; undefined: it did not. */
  #unclaimed: string | undefined;
  #unleased: string | undefined;

  constructor(options: RelayOptions) {
    const { queue, broker, qos, timeoutMs, now, serial = false } = options;
    const window = serial ? 1 : options.window;
    this.#options = serial ? { ...options, window, batch: 1 } : options;
    this.#publisher = new Publisher({
      broker,
      qos,
      window,
      timeoutMs,
      now,
      durations: this.#durations.relay,
      onPublished: options.onPublished,
      onDelivered: (held) => this.#onDelivered(held),
      onRefused: (held, reason, lasting) => this.#undeliverable.refused(held, reason, lasting),
      onSuspect: (held, reason) => this.#undeliverable.suspect(held, reason),
    });
    this.#undeliverable = new Undeliverable({
      queue,
      consumer: options.consumer,
      deliveries: options.deliveries,
      log: options.log,
      onRetry: (held) => {
        // A message that was given up meanwhile leaves its place to others.
        if (held.of.gone) return this.#look();
        this.#publisher.add(held);
        this.#publisher.flush();
      },
      onSplit: (of, held) => {
        this.#done(of, held);
        this.#look();
      },
      onGone: (of, buried) => {
        if (buried) this.#count.dead_lettered++;
        this.#holdings.drop(of);
        this.#look();
      },
      onError: (error) => this.#tell(error),
    });
    this.#acknowledger = new Acknowledger(
      queue,
      !serial,
      (done) => {
        for (const entry of done) {
          this.#count.acknowledged += entry.delivered;
          this.#holdings.acknowledged(entry);
        }
        this.#look();
      },
      (error) => this.#tell(error),
    );
  }

  get counters(): RelayCounters {
    const { shards } = this.#options.queue;
    return { ...this.#count, shards, held: this.#holdings.messages, in_flight: this.#publisher.inFlight };
  }

  get durations(): readonly Durations[] {
    return Object.values(this.#durations);
  }

  /** Why it cannot claim messages now; undefined: it can. */
  get problem(): string | undefined {
    return this.#unclaimed ?? this.#unleased;
  }

  start(): void {
    this.#running = Promise.all([this.#claimLoop(), this.#leaseLoop()]);
  }

  /** The broker is up: publishes waiting messages first. */
  resume(): void {
    this.#publisher.flush();
    this.#look();
  }

  /** The connection to the broker is down. */
  suspend(): void {
    this.#publisher.broken();
  }

  /** Gives entries up for another relay. Returns those that it will not publish; the others have messages in flight. */
  giveUp(ids: readonly string[]): string[] {
    const given = this.#holdings.giveUp(ids);
    this.#publisher.forget();
    this.#look();
    return given;
  }

  /**
   * Stops claiming, and waits up to `graceMs` until what it holds is delivered and acknowledged. Resolves with the entries that
   * it still holds, oldest first: a stream keeps them for another relay.
   */
  async stop(graceMs: number): Promise<Entry[]> {
    const deadline = performance.now() + graceMs;
    this.#stopping.abort();
    this.#look();
    await this.#options.queue.interrupt().catch(() => {});
    while (this.#holdings.messages > 0 && performance.now() < deadline) await sleep(2);
    // A claim in progress may bring more; it ends within its wait.
    const left = Math.max(0, deadline - performance.now());
    await Promise.race([this.#running, sleep(left, undefined, { ref: false })]);
    while (this.#holdings.messages > 0 && performance.now() < deadline) await sleep(2);
    this.#publisher.close();
    for (const held of this.#holdings.entries) await this.#undeliverable.keepRest(held);
    return this.#holdings.entries.map(({ entry }) => entry);
  }

  /** How many messages to claim next; 0 when too few for a round trip. */
  #wants(): number {
    const { broker, batch, window, memory, serial } = this.#options;
    if (serial && this.#holdings.messages > 0) return 0;
    if (!broker.up || this.#holdings.delivered >= window || this.#holdings.bytes >= memory) return 0;
    const room = Math.min(batch, this.#publisher.room - this.#undeliverable.delayed);
    return room >= Math.min(batch, window) / 2 || room >= broker.receiveMaximum / 2 ? room : 0;
  }

  async #claimLoop(): Promise<void> {
    const { queue, consumer } = this.#options;
    const stopping = this.#stopping.signal;
    let failures = 0;
    while (!stopping.aborted) {
      const size = this.#wants();
      if (size <= 0) {
        this.#wanted = Promise.withResolvers();
        await this.#wanted.promise;
        continue;
      }
      try {
        if (this.#unseen) {
          await this.#inTurn(async () => {
            let ids: Set<string> | undefined;
            // Evaluated after Redis has answered.
            const holds = (id: string) => {
              ids ??= this.#holdings.ids();
              return ids.has(id);
            };
            const claim = await queue.recoverUnseen(consumer, size, holds);
            this.#unseen = claim.entries.length > 0;
            this.#take(claim);
          });
        } else {
          this.#take(await queue.claim(consumer, size));
          // mqtt.js writes at the next tick: send these messages before the next claim.
          await new Promise<void>(process.nextTick);
        }
        if (failures > 0) this.#resumed();
        failures = 0;
        this.#unclaimed = undefined;
      } catch (error) {
        this.#tell(error as Error);
        this.#unclaimed = explainRedis(error as Error);
        this.#unseen = true;
        // Redis may have lost its data, and the group.
        await queue.join().catch(() => {});
        await sleep(Math.min(RETRY_MS * 2 ** failures++, RETRY_MAX_MS));
      }
    }
  }

  /** Renews leases while it holds entries, and takes over those of dead relays. */
  async #leaseLoop(): Promise<void> {
    const { queue, consumer, leaseMs } = this.#options;
    const stopping = this.#stopping.signal;
    while (!stopping.aborted || this.#holdings.messages > 0) {
      try {
        await this.#renew();
        await this.#inTurn(async () => {
          const size = stopping.aborted ? 0 : this.#wants();
          if (size <= 0) return;
          this.#take(await queue.recover(consumer, leaseMs, size));
        });
        this.#unleased = undefined;
      } catch (error) {
        this.#tell(error as Error);
        this.#unleased = explainRedis(error as Error);
      }
      // `stop` waits for the loop to end.
      if (stopping.aborted) await sleep(Math.min(leaseMs / 4, 20));
      else await sleep(leaseMs / 4, undefined, { signal: stopping }).catch(() => {});
    }
  }

  /** Runs recoveries one after the other: each has to know what the last one took. */
  #inTurn(recover: () => Promise<void>): Promise<void> {
    const turn = this.#recovery.then(recover);
    this.#recovery = turn.catch(() => {});
    return turn;
  }

  async #renew(): Promise<void> {
    const { queue, consumer, leaseMs } = this.#options;
    const now = performance.now();
    for (const batch of this.#holdings.batches) {
      if (now - batch.leased <= leaseMs / 3) continue;
      const ids = batch.entries.filter(({ gone }) => !gone).map(({ entry }) => entry.id);
      for (let i = 0; i < ids.length; i += RENEW_AT_ONCE) {
        await queue.renew(consumer, ids.slice(i, i + RENEW_AT_ONCE));
      }
      batch.leased = now;
    }
  }

  #take({ entries, deleted }: Claim): void {
    const { now, log } = this.#options;
    if (deleted > 0) log.error(`${deleted} entries were deleted from the queue while a relay held them`);
    this.#count.deleted += deleted;
    if (entries.length === 0) return;
    const others = messagesOf(entries.filter(({ recovered }) => recovered));
    if (others > 0) log.info(`took over ${others} messages that another relay did not deliver`);
    for (const held of this.#holdings.take(entries, now())) {
      const { suspect, recovered = false } = held.entry;
      this.#count[recovered ? 'recovered' : 'claimed'] += held.size;
      if (suspect && held.size > 1) this.#undeliverable.divide(held);
      else for (let index = 0; index < held.size; index++) this.#hold(held, index, recovered);
    }
    this.#publisher.flush();
  }

  #hold(of: HeldEntry, index: number, recovered: boolean): void {
    try {
      const message = hold(of, index, recovered);
      of.messages.push(message);
      const { queued } = message;
      if (!Number.isNaN(queued)) this.#durations.queue.add(of.batch.claimed - queued);
      this.#publisher.add(message);
    } catch (error) {
      this.#undeliverable.malformed(of, index, (error as Error).message);
    }
  }

  #onDelivered(held: Held): void {
    this.#count.published++;
    held.of.delivered++;
    this.#done(held.of, held);
    this.#look();
  }

  /** Counts a message of an entry as done: delivered, or in its own entry. */
  #done(entry: HeldEntry, held?: Held): void {
    if (held !== undefined) held.done = true;
    if (--entry.open > 0 || entry.gone) return;
    this.#holdings.done(entry);
    this.#acknowledger.add(entry);
  }

  /** Wakes the claim loop. */
  #look(): void {
    if (this.#wanted === undefined) return;
    if (!this.#stopping.signal.aborted && this.#wants() <= 0) return;
    this.#wanted.resolve();
    this.#wanted = undefined;
  }

  /** Logs a problem once, not at each attempt. */
  #tell(error: Error): void {
    const problem = explainRedis(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.log.warn(problem);
  }

  #resumed(): void {
    if (this.#problem !== '') this.#options.log.info('messages are claimed again');
    this.#problem = '';
  }
}
