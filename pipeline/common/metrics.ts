import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Clock } from '../shared/clock.ts';
import type { Durations } from './durations.ts';
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

export interface MetricsOptions<T> {
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
