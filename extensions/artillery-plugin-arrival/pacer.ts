/**
 * The schedule of a run, as extensions/k6/internal/pacer has it: a request is due where the integral of the rate reaches
 * its number, and its flow is that of a smooth weighted round robin. Pure arithmetic, tested against pacer.vectors.json.
 */
export interface Phase {
  name: string;
  /** s */
  duration: number;
  /** Requests/s at its start; 0: a pause. */
  rate: number;
  /** Requests/s at its end. */
  rampTo: number;
  measured: boolean;
}

export interface Flow {
  name: string;
  weight: number;
  /** Messages go to `<target>/0` … `<target>/<targets − 1>`. */
  target: string;
  targets: number;
  /** In one request. */
  messages: number;
  /** Subscribers that hold each target. */
  deliveries: number;
  payloadBytes: number;
}

export interface Slot {
  n: number;
  /** s since the start of the run */
  due: number;
  phase: number;
  flow: number;
  /** Number of its first message in the run; the others follow. */
  firstSeq: number;
  /** Number of its first message in its flow. */
  ofFlow: number;
  messages: number;
}

interface Span {
  start: number;
  length: number;
  from: number;
  to: number;
  before: number;
  area: number;
}

const EPSILON = 1e-9;
const whole = (x: number) => Math.ceil(x - EPSILON * Math.max(1, x));

export class Pacer {
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

  /** s since the start of the run */
  phaseStart(i: number): number {
    return (this.#spans[i] as Span).start;
  }

  #phaseOf(n: number): number {
    const slack = EPSILON * Math.max(1, n);
    const found = this.#spans.findIndex(({ before, area }) => n < before + area - slack);
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

/** One cycle of a smooth weighted round robin. */
function weigh(flows: readonly Flow[]): number[] {
  const total = flows.reduce((sum, { weight }) => sum + weight, 0);
  const divisor = flows.reduce((a, { weight }) => gcd(a, weight), 0);
  const current = flows.map(() => 0);
  return Array.from({ length: total / divisor }, () => {
    let best = 0;
    flows.forEach(({ weight }, j) => {
      current[j] = (current[j] as number) + weight;
      if ((current[j] as number) > (current[best] as number)) best = j;
    });
    current[best] = (current[best] as number) - total;
    return best;
  });
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
