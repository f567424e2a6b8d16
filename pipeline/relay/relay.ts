import { setTimeout as sleep } from 'node:timers/promises';
import type { Durations } from '../common/metrics.ts';
import type { Problem } from '../common/readiness.ts';
import { Trouble } from '../common/trouble.ts';
import { CLAIM_WAIT_MS, type Claim, messagesOf } from '../queue/queue.ts';
import { type AcknowledgeListener, Acknowledger } from './acknowledger.ts';
import { Claimer, type ClaimListener } from './claimer.ts';
import { type HeldEntry, type HeldMessage, Holdings, hold } from './holdings.ts';
import { type RelayCounters, type RelayOptions, relayDurations } from './options.ts';
import { Publisher, type PublishListener, type RefusalKind } from './publisher.ts';
import { Troubles, type Work } from './troubles.ts';
import { Undeliverable, type UndeliverableListener } from './undeliverable.ts';

/** A shard may go unread for this many ms: after an outage of all shards the next attempt takes as long. */
const UNREAD_MS = 4000;

/** TAKING is work to get messages from the queue, HOLDING work with those that the relay holds. */
const TAKING: readonly Work[] = ['claims', 'takeovers'];
const HOLDING: readonly Work[] = ['leases', 'acknowledgements', 'letters'];

/**
 * Moves messages from the queue to the broker: claims batches, publishes with a bounded window, and acknowledges delivered
 * entries. It claims the next batch while it publishes. With `serial` it is the simple loop, to compare with: take one
 * message, publish it, wait, acknowledge it.
 */
export class Relay implements PublishListener, UndeliverableListener, AcknowledgeListener, ClaimListener {
  readonly #options: RelayOptions;
  readonly #publisher: Publisher;
  readonly #undeliverable: Undeliverable;
  readonly #acknowledger: Acknowledger;
  readonly #claimer: Claimer;
  readonly #holdings = new Holdings();
  readonly #count = { claimed: 0, recovered: 0, published: 0, acknowledged: 0, dead_lettered: 0, deleted: 0 };
  readonly #durations = relayDurations();
  readonly #troubles: Troubles;
  /** Shards that cannot be read. */
  readonly #unread: Trouble;
  /** When the last claim ended, ms of the monotonic clock. */
  #claimed = 0;
  /** Messages that the broker does not take for now, and why; they wait here for their next attempt. */
  readonly #refused = new Set<HeldMessage>();
  readonly #refusals: Trouble;

  constructor(options: RelayOptions) {
    const { queue, log, consumer, serial = false } = options;
    const window = serial ? 1 : options.window;
    this.#options = serial ? { ...options, window, batch: 1 } : options;
    const troubles = new Troubles(queue, log);
    this.#troubles = troubles;
    this.#unread = new Trouble(log, 'all shards are read again');
    this.#refusals = new Trouble(log, 'the broker takes messages again');
    const { broker, qos, timeoutMs, now, spans, trace, idKey = 'id' } = options;
    const { relay: durations } = this.#durations;
    this.#publisher = new Publisher({
      broker,
      qos,
      window,
      timeoutMs,
      now,
      durations,
      spans,
      trace,
      idKey,
      listener: this,
    });
    const { deliveries, leaseMs } = options;
    const holdings = this.#holdings;
    this.#undeliverable = new Undeliverable({ queue, consumer, deliveries, log, troubles, listener: this });
    this.#acknowledger = new Acknowledger({ queue, gathers: !serial, troubles, listener: this });
    this.#claimer = new Claimer({ queue, consumer, leaseMs, holdings, troubles, listener: this });
  }

  get counters(): RelayCounters {
    const { shards } = this.#options.queue;
    return { ...this.#count, shards, held: this.#holdings.messages, in_flight: this.#publisher.inFlight };
  }

  get durations(): readonly Durations[] {
    return Object.values(this.#durations);
  }

  /** Why messages do not move on where some wait: into the relay, to the broker, out of the queue. */
  get problems(): Problem[] {
    const holds = this.#holdings.messages > 0;
    // While it wants no messages, as the broker is away, no claim shows that the queue would give some.
    const works = [...(this.wants() > 0 ? TAKING : []), ...(holds ? HOLDING : [])];
    const ofQueue = this.#troubles.problems(works);
    const { problem: ofShards } = this.#options.queue;
    const all = [ofQueue.length === 0 ? ofShards : undefined, ...ofQueue];
    return [...all, holds ? this.#refusals.problem : undefined].filter((each) => each !== undefined);
  }

  start(): void {
    this.#claimer.start();
  }

  /** The broker is up: publishes waiting messages first. */
  resume(): void {
    this.#publisher.flush();
    this.#claimer.wake();
  }

  /** The connection to the broker is down. */
  suspend(): void {
    this.#publisher.broken();
  }

  /** Gives entries up for another relay. Returns those that it will not publish; the others have messages in flight. */
  giveUp(ids: readonly string[]): string[] {
    const given = this.#holdings.giveUp(ids);
    this.#publisher.forget();
    this.#forgetRefused();
    this.#claimer.wake();
    return given;
  }

  /** The entries that it holds, the oldest first. */
  get held(): readonly HeldEntry[] {
    return this.#holdings.entries;
  }

  /** Settles when it claims no more, and the queue has answered its last claim. */
  get lastClaim(): Promise<void> {
    return this.#claimer.lastClaim;
  }

  /** Stops claiming, and waits up to `graceMs` until what it holds is delivered and acknowledged. */
  async stop(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs;
    this.#claimer.stop();
    // The queue may never answer: what is waited for is the end of the claim.
    this.#options.queue.interrupt().catch(() => {});
    while (this.#holdings.messages > 0 && performance.now() < deadline) await sleep(2);
    // A claim in progress may bring more; it ends within its wait.
    const left = Math.max(0, deadline - performance.now());
    await Promise.race([this.#claimer.ended, sleep(left, undefined, { ref: false })]);
    while (this.#holdings.messages > 0 && performance.now() < deadline) await sleep(2);
    this.#publisher.close();
  }

  /** Works no more, whatever it still holds. */
  close(): void {
    this.#publisher.close();
    this.#claimer.close();
    this.#acknowledger.close();
    this.#undeliverable.close();
  }

  /**
   * Keeps only the undelivered messages of its entries in the queue, so that the others do not arrive again.
   * @returns how many messages got an entry of their own
   */
  async keepRest(): Promise<number> {
    let kept = 0;
    for (const held of this.#holdings.entries) kept += await this.#undeliverable.keepRest(held);
    return kept;
  }

  /** How many messages to claim next; 0 when too few for a round trip. */
  wants(): number {
    const { broker, batch, window, memory, serial } = this.#options;
    if (serial && this.#holdings.messages > 0) return 0;
    if (!broker.up || this.#holdings.delivered >= window || this.#holdings.bytes >= memory) return 0;
    const room = Math.min(batch, this.#publisher.room - this.#undeliverable.delayed);
    return room >= Math.min(batch, window) / 2 || room >= broker.receiveMaximum / 2 ? room : 0;
  }

  onClaim({ entries, deleted }: Claim): void {
    const { now, log } = this.#options;
    this.#noteUnread();
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

  #noteUnread(): void {
    const { problem, away } = this.#options.queue;
    const claimed = performance.now();
    // A claim ends within its wait. Before this one the relay wanted nothing, so no shard had a chance to be read.
    const patienceMs = claimed - this.#claimed > 2 * CLAIM_WAIT_MS ? Number.POSITIVE_INFINITY : UNREAD_MS;
    this.#claimed = claimed;
    if (problem === undefined || problem.kind === 'starting' || away !== undefined) this.#unread.end();
    else this.#unread.begin(problem, { afterMs: problem.kind === 'shared' ? patienceMs : 0 });
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

  onDelivered(held: HeldMessage): void {
    this.#count.published++;
    held.of.delivered++;
    this.#unrefuse(held);
    this.#done(held.of, held);
    this.#claimer.wake();
  }

  onRefused(held: HeldMessage, reason: string, kind: RefusalKind): void {
    if (kind === 'passing') this.#refuse(held, reason);
    this.#undeliverable.refused(held, reason, kind);
  }

  onSuspect(held: HeldMessage, reason: string): Promise<boolean> {
    return this.#undeliverable.suspect(held, reason);
  }

  onRetry(held: HeldMessage): void {
    // A message that was given up meanwhile leaves its place to others.
    if (held.of.gone) {
      this.#unrefuse(held);
      this.#claimer.wake();
      return;
    }
    this.#publisher.add(held);
    this.#publisher.flush();
  }

  onSplit(of: HeldEntry, held: HeldMessage | undefined): void {
    this.#done(of, held);
    this.#claimer.wake();
  }

  onGone(of: HeldEntry, buried: boolean): void {
    if (buried) this.#count.dead_lettered++;
    this.#holdings.drop(of);
    this.#forgetRefused();
    this.#claimer.wake();
  }

  onAcknowledged(done: readonly HeldEntry[]): void {
    for (const entry of done) {
      this.#count.acknowledged += entry.delivered;
      this.#holdings.acknowledged(entry);
    }
    this.#claimer.wake();
  }

  /** Counts a message of an entry as done: delivered, or in its own entry. */
  #done(entry: HeldEntry, held?: HeldMessage): void {
    if (held !== undefined) held.done = true;
    if (--entry.open > 0 || entry.gone) return;
    this.#holdings.done(entry);
    this.#acknowledger.add(entry);
  }

  /** The broker does not take a message for now. */
  #refuse(held: HeldMessage, reason: string): void {
    // One of several in an entry gets its own entry, and waits in the queue.
    if (held.of.size === 1) this.#refused.add(held);
    this.#refusals.begin({ problem: `the broker refuses messages for now: ${reason}`, kind: 'shared' });
  }

  /** A message that the broker did not take for now waits no longer. */
  #unrefuse(held: HeldMessage): void {
    this.#refused.delete(held);
    if (this.#refused.size === 0) this.#refusals.end();
  }

  /** Forgets refused messages that another relay has now, or that are dead letters. */
  #forgetRefused(): void {
    for (const held of this.#refused) if (held.of.gone) this.#refused.delete(held);
    if (this.#refused.size === 0) this.#refusals.end();
  }
}
