/** What became of every message of a run. Times are µs on the run's clock. */
import type { Hops } from '../../pipeline/hops.ts';
import type { Account } from '../../reports/run.ts';
import { Measures } from './measures.ts';
import { nameOf } from './messages.ts';
import type { Flow, Schedule, Slot } from './schedule.ts';
import { Targets } from './targets.ts';

export type Outcome = 'accepted' | 'rejected' | 'failed';
export type Fate = 'queued' | 'dead_lettered';

const [UNSENT, IN_FLIGHT, ACCEPTED, REJECTED, FAILED] = [0, 1, 2, 3, 4];
const FATES = { queued: 1, dead_lettered: 2 };

/** Messages since the last cut. */
export class Second {
  sent = 0;
  accepted = 0;
  rejected = 0;
  failed = 0;
}

interface Delivery {
  subscriber: number;
  at: number;
  hops: Hops | undefined;
}

export class Ledger {
  readonly #schedule: Schedule;
  #sent: Float64Array;
  #outcome: Uint8Array;
  /** A bit for each subscriber that was handed the message. */
  #got: Uint32Array;
  #fate: Uint8Array;
  readonly #lastSeen = new Map<string, number>();
  /** Handed to a subscriber before this thread was told that they were sent, or even taken, by message. */
  readonly #early = new Map<number, Delivery[]>();
  readonly measures: Measures;
  readonly targets: Targets;
  second = new Second();
  requestsSent = 0;
  inFlight = 0;
  deliveries = 0;
  /** Deliveries due for accepted messages that have not arrived. */
  owed = 0;
  #arrivedInFull = 0;
  #duplicates = 0;
  #reordered = 0;
  #foreign = 0;

  /** @param epoch when the run starts: t = 0 of its schedule */
  constructor(schedule: Schedule, epoch: number) {
    this.#schedule = schedule;
    this.#sent = new Float64Array(schedule.requests);
    this.#outcome = new Uint8Array(schedule.requests);
    this.#got = new Uint32Array(schedule.messages(schedule.requests));
    this.#fate = new Uint8Array(this.#got.length);
    this.measures = new Measures(schedule, epoch);
    this.targets = new Targets(schedule.flows);
  }

  /** Makes room for the requests of a closed run that have been taken since. */
  grow(): void {
    if (this.#schedule.requests > this.#outcome.length) {
      this.#sent = larger(this.#sent, new Float64Array(2 * this.#schedule.requests));
      this.#outcome = larger(this.#outcome, new Uint8Array(2 * this.#schedule.requests));
    }
    if (this.#messages > this.#got.length) {
      this.#got = larger(this.#got, new Uint32Array(2 * this.#messages));
      this.#fate = larger(this.#fate, new Uint8Array(2 * this.#messages));
    }
  }

  /** A request leaves. */
  send(n: number, at: number): void {
    if (n >= this.#schedule.requests || this.#outcome[n] !== UNSENT) return;
    const slot = this.#schedule.slot(n);
    this.#outcome[n] = IN_FLIGHT;
    this.#sent[n] = at;
    this.requestsSent++;
    this.inFlight++;
    this.second.sent += slot.messages;
    this.measures.send(slot, at);
    for (let seq = slot.firstSeq; seq < slot.firstSeq + slot.messages; seq++) {
      const early = this.#early.get(seq);
      this.#early.delete(seq);
      for (const { subscriber, at, hops } of early ?? []) this.arrive(subscriber, at, seq, hops);
    }
  }

  /** Its answer has come, or will not. */
  settle(n: number, outcome: Outcome, at: number): void {
    if (this.#outcome[n] !== IN_FLIGHT) return;
    this.#outcome[n] = outcome === 'accepted' ? ACCEPTED : outcome === 'rejected' ? REJECTED : FAILED;
    this.inFlight--;
    const slot = this.#schedule.slot(n);
    this.second[outcome] += slot.messages;
    if (outcome !== 'failed') this.measures.request(slot, at - (this.#sent[n] as number));
    if (outcome !== 'accepted') return;
    const { deliveries } = this.#flow(slot);
    for (let seq = slot.firstSeq; seq < slot.firstSeq + slot.messages; seq++) {
      this.owed += deliveries - bits(this.#got[seq] as number);
    }
  }

  /** A subscriber was handed a message. */
  arrive(subscriber: number, at: number, seq: number, hops: Hops | undefined): void {
    const known = seq < this.#messages;
    if (!known && !this.#schedule.closed) {
      this.#foreign++;
      return;
    }
    const n = known ? this.#schedule.requestOf(seq) : -1;
    if (!known || this.#outcome[n] === UNSENT) {
      const early = this.#early.get(seq) ?? [];
      this.#early.set(seq, [...early, { subscriber, at, hops }]);
      return;
    }
    const bit = 1 << subscriber;
    const got = this.#got[seq] as number;
    if (got & bit) {
      this.#duplicates++;
      return;
    }
    this.#got[seq] = got | bit;
    this.deliveries++;
    if (this.#outcome[n] === ACCEPTED) this.owed--;
    const slot = this.#schedule.slot(n);
    const flow = this.#flow(slot);
    if (bits(got | bit) === flow.deliveries) this.#arrivedInFull++;
    const name = nameOf(flow, slot, seq);
    const target = this.targets.of(name);
    const topic = `${subscriber}/${name}`;
    if (seq < (this.#lastSeen.get(topic) ?? 0)) {
      this.#reordered++;
      target.reordered++;
    } else this.#lastSeen.set(topic, seq);
    const arrival = this.measures.delivery(slot, this.#sent[n] as number, at, hops);
    if (this.#schedule.phases[slot.phase]?.measured) target.arrival.add(arrival);
  }

  /** A message that did not arrive was found. */
  find(seq: number, fate: Fate): void {
    if (seq < this.#messages) this.#fate[seq] = FATES[fate];
  }

  foreign(): void {
    this.#foreign++;
  }

  /** Whether the answers to all requests, as far as they are known, are in. */
  get settled(): boolean {
    return this.inFlight === 0 && this.requestsSent === this.#schedule.requests;
  }

  /** Messages of a phase that the ingest accepted, and the deliveries due for them. */
  accepted(phase: number): { messages: number; due: number } {
    const [from, to] = this.#schedule.phaseRequests(phase);
    const sum = { messages: 0, due: 0 };
    for (let n = from; n < to; n++) {
      if (this.#outcome[n] !== ACCEPTED) continue;
      const slot = this.#schedule.slot(n);
      sum.messages += slot.messages;
      sum.due += slot.messages * this.#flow(slot).deliveries;
    }
    return sum;
  }

  /**
   * @param ended false: what has no end yet is pending
   * @param lost is filled with the messages lost, by target
   */
  account(ended: boolean, lost?: Map<string, number>): Account {
    const a = {
      scheduled: this.#messages,
      dropped: 0,
      rejected: 0,
      unknown: 0,
      arrived: 0,
      dead_lettered: 0,
      queued: 0,
      lost: 0,
      pending: 0,
    };
    let due = 0;
    for (let n = 0; n < this.#schedule.requests; n++) {
      const slot = this.#schedule.slot(n);
      const flow = this.#flow(slot);
      const { deliveries } = flow;
      for (let seq = slot.firstSeq; seq < slot.firstSeq + slot.messages; seq++) {
        const got = bits(this.#got[seq] as number);
        const outcome = this.#outcome[n];
        const owed = outcome === ACCEPTED || got > 0;
        if (owed) due += deliveries;
        if (got === deliveries) a.arrived++;
        else if (this.#fate[seq] === FATES.dead_lettered) a.dead_lettered++;
        else if (this.#fate[seq] === FATES.queued) a.queued++;
        else if (outcome === REJECTED && got === 0) a.rejected++;
        else if (!ended) a.pending++;
        else if (owed) {
          a.lost++;
          const name = nameOf(flow, slot, seq);
          lost?.set(name, (lost.get(name) ?? 0) + 1);
        } else if (outcome === UNSENT) a.dropped++;
        else a.unknown++;
      }
    }
    const { scheduled, ...ends } = a;
    const sum = Object.values(ends).reduce((total, count) => total + count, 0);
    const unsent = [...this.#early.values()].reduce((total, { length }) => total + length, 0);
    return {
      ...a,
      balanced: sum === scheduled && a.arrived === this.#arrivedInFull,
      duplicates: this.#duplicates,
      reordered: this.#reordered,
      negative: this.measures.negative,
      foreign: this.#foreign + unsent,
      requests: { scheduled: this.#schedule.requests, sent: this.requestsSent, retried: 0 },
      deliveries: { due, arrived: this.deliveries, missing: due - this.deliveries },
    };
  }

  /** Begins the next interval. */
  cut(): void {
    this.measures.cut();
    this.second = new Second();
  }

  get #messages(): number {
    return this.#schedule.messages(this.#schedule.requests);
  }

  #flow(slot: Slot): Flow {
    return this.#schedule.flows[slot.flow] as Flow;
  }
}

function larger<T extends Float64Array | Uint8Array | Uint32Array>(from: T, into: T): T {
  into.set(from);
  return into;
}

function bits(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
