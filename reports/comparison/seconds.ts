/** The figures of a run by second, for blocks. */
import hdr, { type Histogram, HistogramLogReader } from 'hdr-histogram-js';
import type { Brief, Run } from '../contract/run.ts';
import { measuredSeconds } from '../page/facts.ts';
import { checkLog, type Indexed } from './histograms.ts';

/** A distribution: values in ms, ascending, and how often each was seen. */
export interface Counted {
  values: Float64Array;
  counts: Float64Array;
}

/** Histograms of a run by tag (arrival, http) and second. */
export type Recorded = Map<string, Map<number, Counted>>;

/** The latencies compared. from_send is left out, as it follows arrival closely. */
const TAGS = ['arrival', 'http'];

/**
 * The histograms of a run's log.
 * @throws if it is damaged, or larger than any run's
 */
export function parseHistograms(text: string): Recorded {
  checkLog(text);
  const wanted = text
    .split('\n')
    .filter((line) => !line.startsWith('Tag=') || TAGS.some((tag) => line.startsWith(`Tag=${tag},`)));
  // A killed run may end with half a line.
  if (!text.endsWith('\n')) wanted.pop();
  const reader = new HistogramLogReader(wanted.join('\n'), 32, false);
  const recorded: Recorded = new Map(TAGS.map((tag) => [tag, new Map()]));
  for (let h = reader.nextIntervalHistogram(); h; h = reader.nextIntervalHistogram()) {
    const second = Math.round(h.startTimeStampMsec / 1000 - reader.baseTimeSec);
    recorded.get(h.tag)?.set(second, counted(h as Histogram & Indexed));
  }
  return recorded;
}

export function counted(histogram: Histogram & Indexed): Counted {
  const values: number[] = [];
  const counts: number[] = [];
  let left = histogram.totalCount;
  for (let i = 0; left > 0 && i < histogram.countsArrayLength; i++) {
    const count = histogram.getCountAtIndex(i);
    if (count === 0) continue;
    values.push(histogram.valueFromIndex(i) / 1000);
    counts.push(count);
    left -= count;
  }
  return { values: Float64Array.from(values), counts: Float64Array.from(counts) };
}

/** Has the steps of every histogram of a run: 3 significant digits of µs. */
const STEPS = hdr.build({ numberOfSignificantValueDigits: 3, useWebAssembly: false }) as Histogram & Indexed;

/**
 * How many samples are up to a limit in ms, and of how many. A sample is known to a step of its histogram, so only steps that end
 * within the limit count: an error is against the pipeline. internal/runfile does the same.
 */
export function within({ values, counts }: Counted, limit: number): { sum: number; count: number } {
  const all = { sum: 0, count: 0 };
  // The step of the next µs is the first that does not end within the limit.
  const beyond = STEPS.lowestEquivalentValue(Math.floor(limit * 1000 + 1e-6) + 1) / 1000;
  counts.forEach((count, i) => {
    if ((values[i] as number) < beyond - 1e-9) all.sum += count;
    all.count += count;
  });
  return all;
}

/** Seconds of two runs that have the same load: of the same phase, as long after its start. */
export type Pair = [a: number, b: number];

/** The measured seconds of two runs by pairs. A phase that ends by its requests, or waits for a drain, may be shorter in one of them. */
export function pairsOf(a: Run, b: Run): Pair[] {
  const [one, other] = [a, b].map(byPhase) as [number[][], number[][]];
  return one.flatMap((seconds, phase) =>
    seconds.flatMap((second, i): Pair[] => {
      const there = other[phase]?.[i];
      return there === undefined ? [] : [[second, there]];
    }),
  );
}

/** The measured seconds of each measured phase, in which most of each lies. */
function byPhase(run: Run): number[][] {
  const phases = run.steps.filter(({ measured }) => measured);
  const ends = phases.map(({ start_s, duration_s }) => start_s + duration_s);
  const all = measuredSeconds(run).map(({ t }) => t);
  return ends.map((end, i) => all.filter((t) => t + 0.5 <= end && (i === 0 || t + 0.5 > (ends[i - 1] ?? 0))));
}

/** A figure of one second of a series, `rate` among them; null: it has none. */
export function perSecond(run: Run, second: number, series: string, key: string): number | null {
  const row = run.timeline[second];
  if (row === undefined) return null;
  if (series === 'rate') return row.accepted;
  if (isStage(run, series)) return row.stages?.[series] ?? null;
  const brief = row[series as 'arrival'] as Brief | null | undefined;
  return brief?.[key as 'mean'] ?? null;
}

export function isStage(run: Run, series: string): boolean {
  return run.stages.some(({ name }) => name === series);
}

/** The percentiles that runs keep by the second, by name. */
export const PERCENTILES: Partial<Record<string, number>> = {
  p50: 50,
  p75: 75,
  p90: 90,
  p95: 95,
  p99: 99,
  p999: 99.9,
};

/** Whether the measured seconds of a run have the same load. */
export function isSteady({ run }: Run): boolean {
  const measured = run.profile.phases.filter((phase) => phase.measured);
  const loads = measured.map(({ arrival_rate, vus }) => `${arrival_rate} ${vus}`);
  return new Set(loads).size === 1 && measured.every(({ ramp_to }) => ramp_to === null);
}
