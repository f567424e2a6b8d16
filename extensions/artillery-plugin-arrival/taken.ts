/** The closed model: how many requests there will be, and when, is up to what is under test. A request is due when it is taken. */
import { type Flow, type Phase, type Schedule, type Slot, weigh } from './schedule.ts';

interface Span {
  start: number;
  /** undefined: it lasts */
  end: number | undefined;
}

/** Both threads have one: requests are taken in the same order in both. */
export class Taken implements Schedule {
  readonly closed = true;
  readonly phases: readonly Phase[];
  readonly flows: readonly Flow[];
  /** Nothing more is taken. */
  complete = false;
  readonly #slots: Slot[] = [];
  readonly #cycle: number[];
  readonly #ofFlow: number[];
  readonly #spans: Span[] = [];
  #messages = 0;

  constructor(phases: readonly Phase[], flows: readonly Flow[]) {
    this.phases = phases;
    this.flows = flows;
    this.#cycle = weigh(flows);
    this.#ofFlow = flows.map(() => 0);
  }

  /** @param flow undefined: the next in turn. A run does the one or the other. */
  take(phase: number, due: number, flow = this.#inTurn()): Slot {
    const { messages } = this.flows[flow] as Flow;
    const ofFlow = this.#ofFlow[flow] as number;
    const slot = { n: this.requests, due, phase, flow, firstSeq: this.#messages, ofFlow, messages };
    this.#slots.push(slot);
    this.#messages += messages;
    this.#ofFlow[flow] = ofFlow + messages;
    return slot;
  }

  /** Phases begin one after the other. */
  begin(start: number): void {
    this.#spans.push({ start, end: undefined });
  }

  end(end: number): void {
    const span = this.#spans.at(-1);
    if (span !== undefined) span.end = end;
  }

  get requests(): number {
    return this.#slots.length;
  }

  messages(n: number): number {
    return this.#slots[n]?.firstSeq ?? this.#messages;
  }

  slot(n: number): Slot {
    const slot = this.#slots[n];
    if (slot === undefined) throw new RangeError(`request ${n} was never taken`);
    return slot;
  }

  requestOf(seq: number): number {
    return this.#before(({ firstSeq }) => firstSeq <= seq) - 1;
  }

  dueBefore(t: number): number {
    return this.#before(({ due }) => due < t);
  }

  phaseRequests(i: number): [from: number, to: number] {
    const to = this.#before(({ phase }) => phase <= i);
    return [this.#before(({ phase }) => phase < i), to];
  }

  span(i: number, now: number): { start: number; length: number } | undefined {
    const span = this.#spans[i];
    return span && { start: span.start, length: (span.end ?? now) - span.start };
  }

  over(): boolean {
    return this.complete;
  }

  #inTurn(): number {
    return this.#cycle[this.requests % this.#cycle.length] as number;
  }

  /** How many slots, from the first, are so; all that follow are not. */
  #before(so: (slot: Slot) => boolean): number {
    let [low, high] = [0, this.#slots.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (so(this.#slots[middle] as Slot)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
