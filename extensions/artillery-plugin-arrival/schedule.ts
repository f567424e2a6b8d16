/**
 * What a run sends: in the open model a schedule that is known beforehand (pacer.ts), in the closed one what has been taken,
 * each request when its virtual user was about to send it (taken.ts).
 */
export interface Phase {
  name: string;
  /** s */
  duration: number;
  /** Requests/s at its start; 0: a pause, or the closed model. */
  rate: number;
  /** Requests/s at its end. */
  rampTo: number;
  measured: boolean;
  /** Closed model: how many requests are under way at a time, at most. */
  vus?: number;
  /** s; closed model: how long the next phase waits, at most, until everything has arrived. */
  drain?: number;
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

/** Times are in s since the start of the run. */
export interface Schedule {
  readonly phases: readonly Phase[];
  readonly flows: readonly Flow[];
  readonly closed: boolean;
  /** Of the whole run; in the closed model, so far. */
  readonly requests: number;
  /** Messages in the first n requests. */
  messages(n: number): number;
  /** Request n, from 0 to `requests` − 1. */
  slot(n: number): Slot;
  /** The request that carries message seq. */
  requestOf(seq: number): number;
  /** How many requests are due before t. */
  dueBefore(t: number): number;
  /** The requests of a phase: [from, to). */
  phaseRequests(i: number): [from: number, to: number];
  /** When a phase has begun and how long it lasted, as of `now`; undefined before. */
  span(i: number, now: number): { start: number; length: number } | undefined;
  /** Whether nothing more will be due. */
  over(now: number): boolean;
}

/** One cycle of a smooth weighted round robin over flows: their numbers. */
export function weigh(flows: readonly Flow[]): number[] {
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
