import { performance } from 'node:perf_hooks';

/** One probe of the reference clock, in µs: sent at `t0`, answered with `server`, received at `t1`. */
export interface Sample {
  t0: number;
  server: number;
  t1: number;
}

/** What samples prove at `at` of the own clock: reference clock = own clock + `offset_us` ± `bound_us`. */
export interface Estimate {
  at: number;
  /** The offset to apply: zero when zero is possible and no drift is proven, as on one host. */
  offset_us: number;
  bound_us: number;
  /** How fast the offset grows; zero unless proven. */
  drift_ppm: number;
  /** How many of the newest samples one steady drift explains; older ones are left out. */
  kept: number;
}

/** The drift assumed until samples show it: the ±100 ppm that Ethernet allows. */
const STEEPEST = 100e-6;

/**
 * Estimates the offset at a moment after the samples, which are sorted oldest first. The reference read its clock between
 * `t0` and `t1`, so each sample proves an interval for the offset. Two clocks drift apart at a steady rate, so the offset
 * is a line through all intervals. If no line fits, a clock was set or changed its rate: the oldest samples are left out
 * until one fits. Without samples the bound is infinite.
 */
export function estimate(samples: readonly Sample[], at: number): Estimate {
  const intervals = samples.map(between);
  let slowest = -STEEPEST;
  let fastest = STEEPEST;
  let kept = 0;
  while (kept < intervals.length) {
    // The loop uses indexes: it runs at each probe, and copying the samples would cost most.
    const first = intervals.length - kept - 1;
    const oldest = intervals[first] as Interval;
    let low = slowest;
    let high = fastest;
    for (let i = first + 1; i < intervals.length; i++) {
      const interval = intervals[i] as Interval;
      low = Math.max(low, (interval.low - oldest.high) / (interval.at - oldest.at));
      high = Math.min(high, (interval.high - oldest.low) / (interval.at - oldest.at));
    }
    if (low > high) break;
    [slowest, fastest] = [low, high];
    kept++;
  }
  let low = Number.NEGATIVE_INFINITY;
  let high = Number.POSITIVE_INFINITY;
  for (const interval of intervals.slice(intervals.length - kept)) {
    low = Math.max(low, interval.low + slowest * (at - interval.at));
    high = Math.min(high, interval.high + fastest * (at - interval.at));
  }
  const drift = slowest <= 0 && fastest >= 0 ? 0 : (slowest + fastest) / 2;
  const offset = drift === 0 && low <= 0 && high >= 0 ? 0 : (low + high) / 2;
  return {
    at,
    offset_us: offset,
    bound_us: Math.max(high - offset, offset - low),
    drift_ppm: drift * 1e6,
    kept,
  };
}

interface Interval {
  at: number;
  low: number;
  high: number;
}

/** `TIME` rounds down to a microsecond: half of one on average. */
function between({ t0, server, t1 }: Sample): Interval {
  const at = (t0 + t1) / 2;
  const half = (t1 - t0) / 2 + 0.5;
  return { at, low: server - at - half, high: server - at + half };
}

const PROBES_A_ROUND = 4;
const ROUND_MS = 100;
const WINDOW = 64;

/** A process's view of the reference clock (Redis `TIME`): its own monotonic clock plus a probed offset. */
export class Clock {
  readonly #askServer: () => Promise<number>;
  readonly #base = wallClockBase();
  /** The best sample of each of the last rounds. */
  #window: Sample[] = [];
  #estimate = estimate([], 0);
  #timer: NodeJS.Timeout | undefined;

  /** @param askServer resolves to the reference clock's time in microseconds. */
  constructor(askServer: () => Promise<number>) {
    this.#askServer = askServer;
  }

  /** The time on the reference clock, a whole number of microseconds since the epoch. It may be passed on by itself. */
  readonly now = (): number => this.at(performance.now());

  /** {@link now} for a moment of this thread's `performance.now()`, ms. */
  at(moment: number): number {
    const own = this.#base + moment * 1000;
    const { at, offset_us, drift_ppm } = this.#estimate;
    // Without a drift the offset is constant: `at` of a clock without a sample is 0.
    return Math.round(own + offset_us + (drift_ppm === 0 ? 0 : (drift_ppm / 1e6) * (own - at)));
  }

  /** Whether a probe has succeeded; until then {@link now} is the own clock's time. */
  get probed(): boolean {
    return this.#window.length > 0;
  }

  /** The current estimate. */
  get estimate(): Estimate {
    return estimate(this.#window, this.#own());
  }

  /**
   * Probes once, then ten times a second until {@link stop}; less often if a round takes longer, since the samples of two rounds at
   * once would be out of order. Rejects if the first round does.
   */
  async start(): Promise<void> {
    let probing = false;
    const round = async () => {
      if (probing) return;
      probing = true;
      await this.probe().finally(() => {
        probing = false;
      });
    };
    this.#timer = setInterval(() => {
      // The reference is away: keep the last offset.
      round().catch(() => {});
    }, ROUND_MS).unref();
    await round();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async probe(): Promise<void> {
    let best: Sample | undefined;
    for (let i = 0; i < PROBES_A_ROUND; i++) {
      const t0 = this.#own();
      const server = await this.#askServer();
      const t1 = this.#own();
      if (best === undefined || t1 - t0 < best.t1 - best.t0) best = { t0, server, t1 };
    }
    if (best !== undefined) this.#window.push(best);
    if (this.#window.length > WINDOW) this.#window.splice(indexOfWorst(this.#window), 1);
    this.#estimate = estimate(this.#window, this.#own());
    this.#window = this.#window.slice(this.#window.length - this.#estimate.kept);
  }

  #own(): number {
    return this.#base + performance.now() * 1000;
  }
}

/** The index of the sample with the longest round trip, except the newest few. Old samples with short trips show the drift. */
function indexOfWorst(window: readonly Sample[]): number {
  const FRESH = 8;
  let worst = 0;
  let longest = 0;
  for (const [i, { t0, t1 }] of window.slice(0, -FRESH).entries()) {
    if (t1 - t0 > longest) [worst, longest] = [i, t1 - t0];
  }
  return worst;
}

/** The accuracy of reading the wall clock (µs), and the most milliseconds to read it at. */
const BASE_WIDTH_US = 1;
const BASE_TICKS = 50;

/**
 * The µs to add to `monotonic()` (ms) for the wall clock. `performance.timeOrigin` is off by 3 to 15 µs, differently in
 * each process, and by far more where the process lost its core as it was taken. So the base is taken when `wall()` (ms)
 * ticks over: between the reading before the tick and the one after it. Each tick narrows the interval, up to BASE_TICKS
 * of them.
 */
export function wallClockBase(monotonic = () => performance.now(), wall = Date.now): number {
  let low = Number.NEGATIVE_INFINITY;
  let high = Number.POSITIVE_INFINITY;
  for (let ticks = 0; ticks < BASE_TICKS && high - low > BASE_WIDTH_US; ticks++) {
    let earliest = monotonic();
    const before = wall();
    let tick = before;
    for (let next = earliest; tick === before; tick = wall()) {
      earliest = next;
      next = monotonic();
    }
    low = Math.max(low, (tick - monotonic()) * 1000);
    high = Math.min(high, (tick - earliest) * 1000);
  }
  return (low + high) / 2;
}
