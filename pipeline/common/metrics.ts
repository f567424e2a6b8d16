import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { Clock } from '../shared/clock.ts';
import { PROBLEM_KINDS, type Problem } from './readiness.ts';
import { within } from './within.ts';

/** ms that a scrape waits for Redis. */
const BACKLOG_MS = 1000;

/** One of a process's own figures; a counter only grows. */
export interface Figure {
  kind: 'counter' | 'gauge';
  /** Its name behind `arrival_<role>_`, by Prometheus' conventions. */
  metric: string;
  help: string;
}

export type Figures<T> = Record<keyof T & string, Figure>;

interface MetricsOptions<T> {
  role: 'ingest' | 'relay';
  figures: Figures<T>;
  /** Returns the current figures, at a scrape. */
  read: () => T;
  durations: readonly Durations[];
  clock: Clock;
  /** Messages in the queue; may reject, or take long. */
  backlog: () => Promise<number>;
  /** Whether each server that the process depends on is up. */
  up: Record<string, () => boolean>;
  /** What it names at /readyz. */
  problems: () => Promise<readonly Problem[]>;
}

/**
 * A process's metrics for Prometheus: its own figures, its servers, and prom-client's defaults (process and Node). Only
 * `durations` cost a message something; all others are read at a scrape.
 */
export function openMetrics<T extends object>(options: MetricsOptions<T>): Registry {
  const { role, figures, read, durations, clock, backlog, up, problems } = options;
  const registry = new Registry();
  const registers = [registry];
  for (const [key, { kind, metric, help }] of Object.entries<Figure>(figures)) {
    const name = `arrival_${role}_${metric}`;
    const value = () => Number(read()[key as keyof T]);
    if (kind === 'gauge') add(name, help, value);
    else {
      const total = new Counter({
        name,
        help,
        registers,
        collect() {
          total.reset();
          total.inc(value());
        },
      });
    }
  }
  function add(name: string, help: string, value: () => number | Promise<number>): void {
    const metric = new Gauge({
      name,
      help,
      registers,
      async collect() {
        metric.set(await value());
      },
    });
  }
  for (const each of durations) registry.registerMetric(each.metric);
  for (const [name, is] of Object.entries(up))
    add(`arrival_${name}_up`, `1: ${name} answers.`, () => Number(is()));
  const found = new Gauge({
    name: 'arrival_problems',
    help: 'Why the process cannot do its work now, as /readyz names it; with kind="shared" it stays ready.',
    labelNames: ['kind'],
    registers,
    async collect() {
      const all = await problems();
      for (const kind of PROBLEM_KINDS) found.set({ kind }, all.filter((each) => each.kind === kind).length);
    },
  });
  add(
    'arrival_queue_messages',
    'Messages in the queue: waiting, or with a relay and not done.',
    async () => (await within(BACKLOG_MS, backlog())) ?? Number.NaN,
  );
  add(
    'arrival_clock_offset_seconds',
    "Redis' clock minus this process's.",
    () => clock.estimate.offset_us / 1e6,
  );
  add('arrival_clock_bound_seconds', 'How far off the offset can be.', () => clock.estimate.bound_us / 1e6);
  collectDefaultMetrics({ register: registry });
  // These gauges are named like counters, and only sum what nodejs_active_resources and the others count by type.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`);
  return registry;
}

export function counter(metric: string, help: string): Figure {
  return { kind: 'counter', metric, help };
}

export function gauge(metric: string, help: string): Figure {
  return { kind: 'gauge', metric, help };
}

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
  /** The count of each bucket, not cumulative; the last one counts values above all bounds. */
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

  /** This metric for a registry, which only calls {@link get}. */
  get metric(): Metric {
    return this as unknown as Metric;
  }
}
