import type { Metric } from 'prom-client';

/** Upper bounds of the classic buckets, in seconds: a validation takes 100 µs, a backlog minutes. */
const BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  300,
];
const BOUNDS_US = Float64Array.from(BOUNDS, (seconds) => Math.round(seconds * 1e6));

/**
 * A histogram of durations, in seconds. It counts by itself, and prom-client scrapes it as a metric of its own: with
 * prom-client's `observe` for each message arrival p50 of a ramp was a quarter higher (reports/RESULTS.md).
 */
export class Durations {
  readonly name: string;
  readonly help: string;
  /** By bucket, not cumulated; the last has what exceeds all bounds. */
  readonly #counts = new Float64Array(BOUNDS.length + 1);
  #sum_us = 0;

  /** @param name by Prometheus' conventions: it ends in `_seconds`. */
  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  /** Counts a duration in microseconds, `times` messages having the same. Below zero, as clocks of two hosts differ, counts as zero. */
  add(us: number, times = 1): void {
    let bucket = 0;
    while (bucket < BOUNDS_US.length && us > (BOUNDS_US[bucket] as number)) bucket++;
    (this.#counts[bucket] as number) += times;
    if (us > 0) this.#sum_us += us * times;
  }

  /** What prom-client's registry asks a metric for at a scrape. */
  async get() {
    const of = (suffix: string, value: number, labels: { le?: number | string } = {}) => ({
      metricName: `${this.name}_${suffix}`,
      labels,
      value,
    });
    let count = 0;
    const buckets = [...BOUNDS, '+Inf'].map((le, i) => {
      count += this.#counts[i] as number;
      return of('bucket', count, { le });
    });
    const values = [...buckets, of('sum', this.#sum_us / 1e6), of('count', count)];
    return { name: this.name, help: this.help, type: 'histogram', aggregator: 'sum', values };
  }

  /** As a registry takes it, which calls nothing but {@link get}. */
  get metric(): Metric {
    return this as unknown as Metric;
  }
}
