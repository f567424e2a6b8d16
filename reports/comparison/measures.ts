/** The figures of a run that can be compared, by name. */

import { ENDS, type Latency, type Run, STAGES, type Stage } from '../contract/run.ts';
import { percentile } from '../page/facts.ts';

export interface Measure {
  /** arrival.p99, queue.mean, rate.accepted, account.lost */
  name: string;
  kind: 'latency' | 'rate' | 'count';
  /** Null: the run has no such figure, or too few samples. */
  of: (run: Run) => number | null;
}

/** Latencies of the measured phases. */
export const SERIES = ['arrival', 'from_send', 'http', ...STAGES, 'canary'] as const;
type Series = (typeof SERIES)[number];
export const STATISTICS = ['min', 'mean', 'p50', 'p75', 'p90', 'p95', 'p99', 'p999', 'max'] as const;
export type Statistic = (typeof STATISTICS)[number];
/** Rates of the measured phases: requests, accepted messages, arrived deliveries. */
export const RATES = ['requests', 'accepted', 'arrived'] as const;
/** Counts of the whole run. */
export const COUNTS = [...ENDS, 'scheduled', 'duplicates', 'reordered', 'negative', 'foreign'] as const;

const UNITS = { latency: 'ms', rate: '/s', count: '' } as const;

export function unitOf({ kind }: Measure): string {
  return UNITS[kind];
}

/** @returns undefined if no measure has this name */
export function measureOf(name: string): Measure | undefined {
  return BY_NAME.get(name);
}

function series({ latency, canary }: Run, name: Series): Latency | null {
  if (name === 'canary') return canary?.latency ?? null;
  return name in latency.stages ? latency.stages[name as Stage] : latency[name as 'arrival'];
}

function latencyOf(run: Run, name: Series, statistic: Statistic): number | null {
  const latency = series(run, name);
  if (latency === null) return null;
  if (statistic === 'min' || statistic === 'mean' || statistic === 'max') return latency[statistic];
  return percentile(latency, statistic);
}

function rateOf({ steps }: Run, name: (typeof RATES)[number]): number | null {
  const measured = steps.filter((step) => step.measured);
  const seconds = measured.reduce((sum, step) => sum + step.duration_s, 0);
  return seconds === 0 ? null : measured.reduce((sum, step) => sum + step[name], 0) / seconds;
}

const MEASURES: Measure[] = [
  ...SERIES.flatMap((name) =>
    STATISTICS.map(
      (statistic): Measure => ({
        name: `${name}.${statistic}`,
        kind: 'latency',
        of: (run) => latencyOf(run, name, statistic),
      }),
    ),
  ),
  ...RATES.map((name): Measure => ({ name: `rate.${name}`, kind: 'rate', of: (run) => rateOf(run, name) })),
  ...COUNTS.map(
    (name): Measure => ({ name: `account.${name}`, kind: 'count', of: ({ account }) => account[name] }),
  ),
];
const BY_NAME = new Map(MEASURES.map((measure) => [measure.name, measure]));
