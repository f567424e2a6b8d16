/** How long requests and deliveries took. Times are µs, moments are on the run's clock. */
import type { Hops } from '../../pipeline/hops.ts';
import { STAGES } from '../../reports/run.ts';
import type { Flow, Schedule, Slot } from './schedule.ts';
import { Series } from './series.ts';

/** One set of times: a sample per delivery, of `http` one per request. */
export class Times {
  readonly arrival = new Series();
  readonly from_send = new Series();
  readonly http = new Series();
  readonly stages = STAGES.map(() => new Series());

  all(): Series[] {
    return [this.arrival, this.from_send, this.http, ...this.stages];
  }

  merge(other: Times): void {
    const others = other.all();
    this.all().forEach((series, i) => {
      series.merge(others[i] as Series);
    });
  }
}

export class Measures {
  readonly #schedule: Schedule;
  readonly #epoch: number;
  /** Of each phase. */
  readonly phases: readonly Times[];
  /** Arrival in the measured phases, of each flow. */
  readonly flows: readonly Series[];
  /** sent − due in the measured phases of the open model, as often as deliveries are due: the stage schedule, arrived or not. */
  readonly lateness = new Series();
  /** Since the last cut. */
  readonly interval = new Times();
  /** Arrival latency of each delivery since then. */
  latencies: number[] = [];
  /** Deliveries since then whose stages are known, and the sum of each stage. */
  stamped = 0;
  stageSums = STAGES.map(() => 0);
  /** Deliveries with a stage below zero. */
  negative = 0;

  /** @param epoch when the run starts: t = 0 of its schedule */
  constructor(schedule: Schedule, epoch: number) {
    this.#schedule = schedule;
    this.#epoch = epoch;
    this.phases = schedule.phases.map(() => new Times());
    this.flows = schedule.flows.map(() => new Series());
  }

  /** Of the measured phases. */
  get measured(): Times {
    const all = new Times();
    this.#schedule.phases.forEach(({ measured }, i) => {
      if (measured) all.merge(this.phases[i] as Times);
    });
    return all;
  }

  send(slot: Slot, sent: number): void {
    if (this.#schedule.closed || !this.#schedule.phases[slot.phase]?.measured) return;
    const { deliveries } = this.#schedule.flows[slot.flow] as Flow;
    for (let i = slot.messages * deliveries; i > 0; i--) this.lateness.add(sent - this.#due(slot, sent));
  }

  request(slot: Slot, took: number): void {
    (this.phases[slot.phase] as Times).http.add(took);
    this.interval.http.add(took);
  }

  /**
   * The stages telescope, so they add up to the arrival latency.
   * @returns that
   */
  delivery(slot: Slot, sent: number, at: number, hops: Hops | undefined): number {
    const due = this.#due(slot, sent);
    const times = this.phases[slot.phase] as Times;
    const arrival = at - due;
    for (const into of [times, this.interval]) {
      into.arrival.add(arrival);
      into.from_send.add(at - sent);
    }
    this.latencies.push(arrival);
    if (this.#schedule.phases[slot.phase]?.measured) (this.flows[slot.flow] as Series).add(arrival);
    const stamps = [due, sent];
    if (hops !== undefined) stamps.push(hops.received, hops.queued, hops.claimed, hops.published, at);
    if (hops !== undefined) this.stamped++;
    let negative = at < sent;
    for (let i = 0; i + 1 < stamps.length; i++) {
      const us = (stamps[i + 1] as number) - (stamps[i] as number);
      (times.stages[i] as Series).add(us);
      if (hops !== undefined) this.stageSums[i] = (this.stageSums[i] as number) + us;
      negative ||= us < 0;
    }
    if (negative) this.negative++;
    return arrival;
  }

  /** In the closed model a message is due when it is sent: what Artillery does before that is nobody's lateness. */
  #due(slot: Slot, sent: number): number {
    return this.#schedule.closed ? sent : this.#epoch + Math.round(slot.due * 1e6);
  }

  /** Begins the next interval. */
  cut(): void {
    for (const series of this.interval.all()) series.reset();
    this.latencies = [];
    this.stamped = 0;
    this.stageSums = STAGES.map(() => 0);
  }
}
