/**
 * The schedule of a run, as extensions/k6/internal/pacer has it: a request is due where the integral of the rate reaches
 * its number, and its flow is that of a smooth weighted round robin. Pure arithmetic, tested against pacer.vectors.json.
 */
import { type Flow, type Phase, type Schedule, type Slot, weigh } from './schedule.ts';

interface Span {
  start: number;
  length: number;
  from: number;
  to: number;
  before: number;
  area: number;
}

/** What rounding may take from or add to an integral that is meant to be whole. It stays far below a request. */
const slack = (x: number) => Math.min(1e-9 * Math.max(1, x), 1e-3);
const whole = (x: number) => Math.ceil(x - slack(x));

export class Pacer implements Schedule {
  readonly closed = false;
  readonly requests: number;
  /** s */
  readonly duration: number;
  readonly flows: readonly Flow[];
  readonly phases: readonly Phase[];
  readonly #spans: Span[] = [];
  readonly #cycle: number[];
  readonly #firstSeq = [0];
  readonly #ofFlow: number[] = [];
  readonly #turns: number[];

  constructor(phases: readonly Phase[], flows: readonly Flow[]) {
    this.phases = phases;
    this.flows = flows;
    this.#cycle = weigh(flows);
    this.#turns = flows.map(() => 0);
    this.#cycle.forEach((flow, i) => {
      const { messages } = flows[flow] as Flow;
      const turn = this.#turns[flow] as number;
      this.#ofFlow.push(turn * messages);
      this.#turns[flow] = turn + 1;
      this.#firstSeq.push((this.#firstSeq[i] as number) + messages);
    });
    let [start, before] = [0, 0];
    for (const { duration, rate, rampTo } of phases) {
      const area = ((rate + rampTo) / 2) * duration;
      this.#spans.push({ start, length: duration, from: rate, to: rampTo, before, area });
      start += duration;
      before += area;
    }
    this.duration = start;
    this.requests = whole(before);
  }

  /** Messages in the first n requests. */
  messages(n: number): number {
    const round = this.#cycle.length;
    return Math.floor(n / round) * (this.#firstSeq[round] as number) + (this.#firstSeq[n % round] as number);
  }

  /** Request n, from 0 to `requests` − 1. */
  slot(n: number): Slot {
    const round = this.#cycle.length;
    const flow = this.#cycle[n % round] as number;
    const { messages } = this.flows[flow] as Flow;
    const phase = this.#phaseOf(n);
    return {
      n,
      due: dueIn(this.#spans[phase] as Span, n),
      phase,
      flow,
      firstSeq: this.messages(n),
      ofFlow:
        Math.floor(n / round) * (this.#turns[flow] as number) * messages +
        (this.#ofFlow[n % round] as number),
      messages,
    };
  }

  /** The request that carries message seq. */
  requestOf(seq: number): number {
    const round = this.#cycle.length;
    const all = this.#firstSeq[round] as number;
    const rest = seq % all;
    let at = 0;
    while ((this.#firstSeq[at + 1] as number) <= rest) at++;
    return Math.floor(seq / all) * round + at;
  }

  /** How many requests are due before t, in s. */
  dueBefore(t: number): number {
    const span = this.#spans.find(({ start, length }) => start + length > t);
    if (span === undefined) return this.requests;
    const into = t - span.start;
    const sum = span.before + span.from * into + ((span.to - span.from) * into * into) / (2 * span.length);
    return Math.min(this.requests, whole(sum));
  }

  /** The requests of a phase: [from, to). */
  phaseRequests(i: number): [from: number, to: number] {
    const { before, area } = this.#spans[i] as Span;
    return [Math.min(this.requests, whole(before)), Math.min(this.requests, whole(before + area))];
  }

  span(i: number, now: number): { start: number; length: number } | undefined {
    const { start, length } = this.#spans[i] as Span;
    return start > now ? undefined : { start, length: Math.min(length, now - start) };
  }

  over(now: number): boolean {
    return now >= this.duration;
  }

  #phaseOf(n: number): number {
    const found = this.#spans.findIndex(({ before, area }) => n < before + area - slack(n));
    return found < 0 ? this.#spans.length - 1 : found;
  }
}

/** Solves before + from·t + (to − from)·t²/2d = n for t, in the form that stays exact where the rate is constant. */
function dueIn({ start, length, from, to, before }: Span, n: number): number {
  const left = Math.max(0, n - before);
  if (left === 0) return start;
  return (
    start + (2 * left) / (from + Math.sqrt(Math.max(0, from * from + (2 * (to - from) * left) / length)))
  );
}
