/** The figures of a run that can be compared, by name. */

import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { ENDS, type Latency, type Run, STAGES, type Stage } from '../contract/run.ts';
import { percentile } from '../page/facts.ts';
import { rulesOf } from '../rules.ts';
import { counted, type Indexed, within } from './seconds.ts';

export interface Measure {
  /** arrival.p99, arrival.within(250ms), queue.mean, rate.accepted, account.lost */
  name: string;
  kind: 'latency' | 'rate' | 'count' | 'share';
  /** ms, of a share: that of the deliveries up to this latency. */
  limit?: number;
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

const UNITS = { latency: 'ms', rate: '/s', count: '', share: '%' } as const;

export function unitOf({ kind }: Measure): string {
  return UNITS[kind];
}

/** @returns undefined if no measure has this name */
export function measureOf(name: string): Measure | undefined {
  if (BY_NAME.has(name)) return BY_NAME.get(name);
  const [, number, unit] = /^arrival\.within\(\s*([\d.]+)\s*(us|µs|ms|s)\s*\)$/.exec(name) ?? [];
  const limit = Number(number) * (unit === 's' ? 1000 : unit === 'ms' ? 1 : 0.001);
  return limit >= 0.001 ? shareWithin(limit) : undefined;
}

/** The measure of `arrival.within(250ms)`. */
function shareWithin(limit: number): Measure {
  const name = limit % 1 === 0 ? `${limit}ms` : `${Math.floor(limit * 1000 + 1e-6)}us`;
  return { name: `arrival.within(${name})`, kind: 'share', limit, of: (run) => shareOf(run, limit) };
}

function shareOf({ latency: { arrival } }: Run, limit: number): number | null {
  if (arrival.histogram === null || arrival.count === 0) return null;
  const { sum, count } = within(
    counted(decodeFromCompressedBase64(arrival.histogram) as Histogram & Indexed),
    limit,
  );
  return sum / count;
}

/** The shares within the limits of runs, of p99 or of a share; none where a run has no limit. */
export function sharesOf(runs: readonly Run[]): Measure[] {
  const limits = runs.map((run) => [
    ...[run.answer?.p99_limit_ms ?? []].flat(),
    ...rulesOf(run).flatMap(({ name }) => {
      const [, number, unit] = /^arrival_within_(\d+)(ms|us)$/.exec(name) ?? [];
      return unit === undefined ? [] : Number(number) / (unit === 'ms' ? 1 : 1000);
    }),
  ]);
  if (limits.some((those) => those.length === 0)) return [];
  return [...new Set(limits.flat())].sort((a, b) => a - b).map(shareWithin);
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
