/** The figures of a run that can be compared, by name. */
import { COUNTS, type Latency, type Run, type SpansStage, STAGES } from '../contract/run.ts';
import { percentile } from '../page/facts.ts';
import { decodeHistogram } from './histograms.ts';
import { counted, within } from './seconds.ts';

export interface Measure {
  /** arrival.p99, arrival.within(250ms), queue.mean, spans.queued-claimed.mean, rate.accepted, account.lost */
  name: string;
  kind: 'latency' | 'rate' | 'count' | 'share';
  /** The stage whose latency it is, if it is not one of our pipeline: only runs with this stage have the figure. */
  stage?: string;
  /** A stage of sampled messages by spans, between two marks: queued-claimed. */
  spans?: string;
  /** ms, of a share: that of the deliveries up to this latency. */
  limit?: number;
  /** It is the generator's lateness, not a figure of the pipeline. */
  generators?: true;
  /** Null: the run has no such figure, or too few samples. */
  of: (run: Run) => number | null;
}

/** Latencies of the measured phases. */
export const SERIES: readonly string[] = ['arrival', 'from_send', 'http', ...STAGES, 'canary'];
export const STATISTICS = ['min', 'mean', 'p50', 'p75', 'p90', 'p95', 'p99', 'p999', 'max'] as const;
type Statistic = (typeof STATISTICS)[number];
/** The statistics that a stage by spans has. */
export const SPANS_STATISTICS = ['mean', 'p50', 'p99', 'max'] as const;
/** The first stage of every run, and the same by spans: how late the generator was. */
const LATENESS = { stage: 'schedule', spans: 'due-sent' };
/** Rates of the measured phases: requests, accepted messages, arrived deliveries. */
export const RATES = ['requests', 'accepted', 'arrived'] as const;

const UNITS = { latency: 'ms', rate: '/s', count: '', share: '%' } as const;

export function unitOf({ kind }: Measure): string {
  return UNITS[kind];
}

/** @returns undefined if no measure has this name */
export function measureOf(name: string): Measure | undefined {
  if (BY_NAME.has(name)) return BY_NAME.get(name);
  const [, number, unit] = /^arrival\.within\(\s*([\d.]+)\s*(us|µs|ms|s)\s*\)$/.exec(name) ?? [];
  const limit = Number(number) * (unit === 's' ? 1000 : unit === 'ms' ? 1 : 0.001);
  if (limit >= 0.001) return shareWithin(limit);
  const [, spans, key] = /^spans\.([a-z][a-z0-9_]{0,15}-[a-z][a-z0-9_]{0,15})\.(\w+)$/.exec(name) ?? [];
  if (spans !== undefined) {
    const known = SPANS_STATISTICS.find((one) => one === key);
    return (
      known && {
        ...{ name, kind: 'latency', spans, of: (run) => spansStage(run, spans)?.[known] ?? null },
        ...(spans === LATENESS.spans && { generators: true }),
      }
    );
  }
  const [, stage = '', statistic] = /^([a-z][a-z0-9_]{0,15})\.(\w+)$/.exec(name) ?? [];
  const known = STATISTICS.find((one) => one === statistic);
  return known === undefined || ['rate', 'account'].includes(stage)
    ? undefined
    : ofSeries(stage, known, stage);
}

/** The measure of `arrival.within(250ms)`. */
function shareWithin(limit: number): Measure {
  const name = limit % 1 === 0 ? `${limit}ms` : `${Math.floor(limit * 1000 + 1e-6)}us`;
  return { name: `arrival.within(${name})`, kind: 'share', limit, of: (run) => shareOf(run, limit) };
}

function shareOf({ latency: { arrival } }: Run, limit: number): number | null {
  if (arrival.histogram === null || arrival.count === 0) return null;
  const { sum, count } = within(counted(decodeHistogram(arrival.histogram)), limit);
  return sum / count;
}

/** The shares within the limits of runs, of p99 or of a share; none where a run has no limit. */
export function sharesOf(runs: readonly Run[]): Measure[] {
  const limits = runs.map((run) => [
    ...[run.answer?.p99_limit_ms ?? []].flat(),
    ...run.verdict.rules.flatMap(({ name }) => {
      const [, number, unit] = /^arrival_within_(\d+)(ms|us)$/.exec(name) ?? [];
      return unit === undefined ? [] : Number(number) / (unit === 'ms' ? 1 : 1000);
    }),
  ]);
  if (limits.some((those) => those.length === 0)) return [];
  return [...new Set(limits.flat())].sort((a, b) => a - b).map(shareWithin);
}

function series({ latency, canary }: Run, name: string): Latency | null {
  if (name === 'canary') return canary?.latency ?? null;
  if (name === 'arrival' || name === 'from_send' || name === 'http') return latency[name];
  return latency.stages[name] ?? null;
}

/** The stages of a run by spans, between two marks, and their sum as the last one. */
export function spansStages({ spans }: Run): string[] {
  return spans && spans.stages.length > 0 ? [...spans.stages, spans.arrival].map(betweenMarks) : [];
}

/** A stage by spans that {@link spansStages} lists. */
export function spansStage(run: Run, name: string): SpansStage | undefined {
  if (!spansStages(run).includes(name)) return undefined;
  return [...(run.spans?.stages ?? []), ...(run.spans ? [run.spans.arrival] : [])].find(
    (stage) => betweenMarks(stage) === name,
  );
}

const betweenMarks = ({ from, to }: SpansStage) => `${from}-${to}`;

/** Whether a run has the stage of a measure. */
export function hasStage(run: Run, { stage, spans }: Measure): boolean {
  if (spans !== undefined) return spansStages(run).includes(spans);
  return stage === undefined || run.stages.some(({ name }) => name === stage);
}

function statisticOf(run: Run, name: string, statistic: Statistic): number | null {
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

function ofSeries(name: string, statistic: Statistic, stage?: string): Measure {
  return {
    name: `${name}.${statistic}`,
    kind: 'latency',
    ...(stage !== undefined && { stage }),
    ...(name === LATENESS.stage && { generators: true }),
    of: (run) => statisticOf(run, name, statistic),
  };
}

const MEASURES: Measure[] = [
  ...SERIES.flatMap((name) => STATISTICS.map((statistic) => ofSeries(name, statistic))),
  ...RATES.map((name): Measure => ({ name: `rate.${name}`, kind: 'rate', of: (run) => rateOf(run, name) })),
  ...COUNTS.map(
    (name): Measure => ({ name: `account.${name}`, kind: 'count', of: ({ account }) => account[name] ?? 0 }),
  ),
];
const BY_NAME = new Map(MEASURES.map((measure) => [measure.name, measure]));
