import { performance } from 'node:perf_hooks';

/** One question to the reference clock, in microseconds: asked at `t0`, answered `server`, heard at `t1`. */
export interface Sample {
  t0: number;
  server: number;
  t1: number;
}

/** Reference clock = own clock + `offset_us`, give or take `bound_us`. */
export interface Estimate {
  offset_us: number;
  bound_us: number;
}

/**
 * The offset that a window of samples proves. The sample with the smallest round trip decides, since
 * half its round trip bounds the error; half a microsecond more is what `TIME` cuts off. An offset
 * inside the bound is zero: one host has one clock. No samples: nothing is known, the bound is infinite.
 */
export function estimate(samples: readonly Sample[]): Estimate {
  let best: Sample | undefined;
  for (const sample of samples) {
    if (best === undefined || sample.t1 - sample.t0 < best.t1 - best.t0) best = sample;
  }
  if (best === undefined) return { offset_us: 0, bound_us: Number.POSITIVE_INFINITY };
  const offset = best.server - (best.t0 + best.t1) / 2;
  const bound = (best.t1 - best.t0) / 2 + 0.5;
  return { offset_us: Math.abs(offset) <= bound ? 0 : offset, bound_us: bound };
}

const PROBES_A_ROUND = 3;
const ROUND_MS = 1000;
const WINDOW = 5 * PROBES_A_ROUND;

/** A process's view of the reference clock (Redis `TIME`): its own monotonic clock plus a probed offset. */
export class Clock {
  readonly #askServer: () => Promise<number>;
  readonly #base = wallClockBase();
  #window: Sample[] = [];
  #estimate = estimate([]);
  #timer: NodeJS.Timeout | undefined;

  /** @param askServer resolves to the reference clock's time in microseconds. */
  constructor(askServer: () => Promise<number>) {
    this.#askServer = askServer;
  }

  /** The time on the reference clock, a whole number of microseconds since the epoch. */
  now(): number {
    return Math.round(this.#own() + this.#estimate.offset_us);
  }

  get estimate(): Estimate {
    return this.#estimate;
  }

  /** Probes once, then about once a second until {@link stop}. Rejects if the first round does. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => {
      // The reference is away: the offset known so far holds until it is back.
      this.probe().catch(() => {});
    }, ROUND_MS).unref();
    await this.probe();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async probe(): Promise<void> {
    for (let i = 0; i < PROBES_A_ROUND; i++) {
      const t0 = this.#own();
      const server = await this.#askServer();
      this.#window.push({ t0, server, t1: this.#own() });
    }
    this.#window = this.#window.slice(-WINDOW);
    this.#estimate = estimate(this.#window);
  }

  #own(): number {
    return this.#base + performance.now() * 1000;
  }
}

/**
 * What to add to `performance.now()` (in µs) to read the wall clock. `performance.timeOrigin` is off by
 * 3 to 11 µs and differently in each process, so the base is taken where `Date.now()` ticks over. A tick
 * can be noticed late, never early: of several the earliest is right.
 */
function wallClockBase(): number {
  let base = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < 5; i++) {
    const before = Date.now();
    let tick = before;
    while (tick === before) tick = Date.now();
    base = Math.max(base, (tick - performance.now()) * 1000);
  }
  return base;
}
