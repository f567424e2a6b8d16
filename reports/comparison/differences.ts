/** The difference of a group's figure from the baseline's, and its finding. */
import { failures } from '../account.ts';
import type { Run } from '../contract/run.ts';
import { ms } from '../format.ts';
import { measuredSeconds } from '../page/facts.ts';
import {
  BETTER_FAILED,
  type Difference,
  GENERATORS,
  MARGIN,
  MOST_REPEATS,
  MUCH,
  type Word,
} from './comparison.ts';
import { type Bounds, doubtOf } from './doubts.ts';
import { fewEvents, samplingStep } from './events.ts';
import { type Blocking, fromBlocks, fromRepeats, type LogInterval, mean, RESOLUTION } from './intervals.ts';
import { type Measure, measureOf, spansStage } from './measures.ts';
import { blockingOf, memoryOf, outlasted, outlasts } from './memory.ts';
import { besideOthers } from './others.ts';
import { type Estimate, pooled, quantile, ratio } from './pools.ts';
import type { Group, Recording } from './recording.ts';
import {
  type Counted,
  isStage,
  isSteady,
  type Pair,
  PERCENTILES,
  pairsOf,
  perSecond,
  within,
} from './seconds.ts';

/** The widest interval around no difference for two equal figures. */
const EQUAL = (kind: Measure['kind']) => (kind === 'share' ? 0.001 : 0.05);
/** Blocks represent a run only if this share of its samples lies in its measured seconds. */
const LEAST_COVERED = 0.95;

/** The figure of a group; for repeats the geometric mean, of counts the mean. */
export function figureOf(group: Group, measure: Measure): number | null {
  const values = group.map(({ run }) => measure.of(run));
  if (!values.every((value) => value !== null)) return null;
  if (measure.kind === 'count' || values.some((value) => value <= 0)) return mean(values);
  return Math.exp(mean(values.map(Math.log)));
}

export function differenceOf(baseline: Group, other: Group, measure: Measure): Difference | null {
  const [a, b] = [figureOf(baseline, measure), figureOf(other, measure)];
  if (a === null || b === null) return null;
  const plain = { absolute: b - a, relative: a > 0 && b > 0 ? b / a - 1 : null };
  if (measure.kind === 'count' || plain.relative === null) {
    const why = plain.relative === null ? 'there is no ratio of 0' : null;
    return { ...plain, interval: null, why, word: 'undecided' };
  }
  const found = intervalOf(baseline, other, measure, Math.log(b / a));
  const doubt = doubtOf(baseline, other, measure);
  if (typeof found === 'string') {
    const seen = large(measure, doubt.around({ low: plain.relative, high: plain.relative }));
    const why = eventless(baseline, other, measure, seen);
    const finding: Finding = why === null ? { word: seen, why: found } : { word: 'undecided', why };
    return { ...plain, interval: null, ...admitted(finding, baseline, other, measure) };
  }
  const interval = { low: Math.expm1(found.low), high: Math.expm1(found.high), from: found.from };
  const decided = word(measure, interval);
  const few = eventless(baseline, other, measure, decided);
  if (few !== null) return { ...plain, interval: null, word: 'undecided', why: few };
  const surely = word(measure, doubt.around(interval)) === decided;
  const why = `the instrument’s doubt (${doubt.by.join(', ')}) is wider than the difference`;
  const finding: Finding = surely ? { word: decided, why: null } : { word: 'undecided', why };
  const noisy = finding.word === 'undecided' && finding.why === null;
  const more = noisy && eventless(baseline, other, tailOf(measure), 'equal') === null;
  const admissible = admitted(finding, baseline, other, measure);
  return { ...plain, interval, ...admissible, ...(more && moreRuns(measure, found)) };
}

/** How many more runs would decide a difference: {@link Difference.more}. */
function moreRuns(
  measure: Measure,
  { low, high, with: reach }: LogInterval,
): Pick<Difference, 'more'> | undefined {
  if (reach === undefined) return undefined;
  const centre = (low + high) / 2;
  for (let more = 1; more <= MOST_REPEATS; more++) {
    const ends = { low: Math.expm1(centre - reach(more)), high: Math.expm1(centre + reach(more)) };
    if (word(measure, ends) !== 'undecided') return { more };
  }
  return { more: 0 };
}

/** The finding of a difference without an interval: it is named if it is large even where it is smallest. */
function large({ kind }: Measure, { low, high }: Bounds): Word {
  if (kind !== 'latency' && kind !== 'rate') return 'undecided';
  const [more, less] = kind === 'latency' ? (['worse', 'better'] as const) : (['better', 'worse'] as const);
  if (1 + low >= MUCH) return more;
  return 1 + high <= 1 / MUCH ? less : 'undecided';
}

type Finding = Pick<Difference, 'word' | 'why'>;

/** A run in which messages failed is never the better one: they would have been its slowest. Lateness is a condition of the runs, as is other work. */
function admitted(found: Finding, baseline: Group, other: Group, { name, generators }: Measure): Finding {
  const differs = found.word === 'worse' || found.word === 'better';
  if (generators && differs) return { word: 'undecided', why: GENERATORS };
  const others = differs ? besideOthers(baseline, other, name) : null;
  if (others !== null) return { word: 'undecided', why: others };
  const better = found.word === 'worse' ? baseline : found.word === 'better' ? other : [];
  return better.some(({ run }) => failures(run.account) !== null)
    ? { word: 'undecided', why: BETTER_FAILED }
    : found;
}

function word({ kind }: Measure, { low, high }: Bounds): Word {
  if (low > MARGIN[kind]) return kind === 'latency' ? 'worse' : 'better';
  if (high < -MARGIN[kind]) return kind === 'latency' ? 'better' : 'worse';
  return Math.max(-low, high) <= EQUAL(kind) ? 'equal' : 'undecided';
}

type Found = (LogInterval & { from: string }) | string;

/** The interval, or why there is none. */
function intervalOf(baseline: Group, other: Group, measure: Measure, difference: number): Found {
  if (baseline.length > 1 || other.length > 1) {
    const logs = (group: Group) => group.map(({ run }) => Math.log(measure.of(run) as number));
    const [a, b] = [logs(baseline), logs(other)];
    if (![...a, ...b].every(Number.isFinite)) return 'a repeat lacks this figure';
    const interval = fromRepeats(a, b, resolution([...baseline, ...other], measure));
    return { ...interval, from: `${a.length} and ${b.length} runs` };
  }
  return blocksOf(baseline[0] as Recording, other[0] as Recording, measure, difference);
}

/** What shows the events behind a figure: of a mean the tail, which few events can move far. */
function tailOf(measure: Measure): Measure {
  return measureOf(measure.name.replace(/\.mean$/, '.p999')) ?? measure;
}

/** {@link fewEvents} of single runs: repeats show by themselves how much events vary. */
function eventless(baseline: Group, other: Group, measure: Measure, word: Word): string | null {
  const [[a], [b]] = [baseline, other];
  if (word === 'undecided' || baseline.length > 1 || other.length > 1 || !a || !b) return null;
  return fewEvents(a, b, measure, word);
}

/** What a figure is known to at best: its step in a histogram, of a share one delivery. */
function resolution(group: Group, { kind }: Measure): number {
  if (kind !== 'share') return RESOLUTION;
  return 1 / Math.min(...group.map(({ run }) => run.latency.arrival.count));
}

function blocksOf(a: Recording, b: Recording, measure: Measure, difference: number): Found {
  if (measure.spans !== undefined) return sampling(a.run, b.run, measure.spans);
  const pairs = pairsOf(a.run, b.run);
  const lengths = [a, b].map(({ run }) => measuredSeconds(run).length);
  if (pairs.length < LEAST_COVERED * Math.max(...lengths)) {
    return `phases took longer in one run: ${lengths.join(' and ')} s`;
  }
  const [series = ''] = measure.name.split('.');
  const { blocking, width } = blockingFor(a.run, b.run, pairs, series);
  if (blocking === null) return `the run is too short: ${pairs.length} s, for how alike its seconds are`;
  const { count } = blocking;
  const length = blocking.length * width;
  // The last one has the seconds that are left over.
  const blocks = Array.from({ length: count }, (_, i) =>
    pairs.slice(i * length, i < count - 1 ? (i + 1) * length : undefined),
  );
  const [one, two] = [a, b].map((recording, k) =>
    estimate(
      recording,
      blocks.map((block) => block.map((pair) => pair[k] as number)),
      measure,
    ),
  );
  if (one === undefined || two === undefined) return 'no figures by the second';
  if (typeof one === 'string') return one;
  if (typeof two === 'string') return two;
  const steps = [a, b].map((recording) => samplingStep(recording, measure));
  const step = Math.hypot(resolution([a, b], measure), ...steps);
  const interval = fromBlocks(difference, one, two, blocking, step);
  return interval === null
    ? 'too few samples in a second'
    : { ...interval, from: `${count} blocks of ${length} s` };
}

/** Why a stage by spans has no interval: its error comes from sampling, which does not show how much runs differ. */
function sampling(a: Run, b: Run, stage: string): string {
  const errors = [a, b].map((run) => `±${ms(spansStage(run, stage)?.error)}`);
  return `sampled, ${errors.join(' and ')} ms; an interval needs repeats`;
}

/** The statistics whose seconds show how much a second is like the one before: which shows it best differs. */
const WITNESSES = ['mean', 'p50', 'p99'];
/** Longer series are averaged down to so many points: the effort grows with the square. */
const MOST_POINTS = 600;

/** Blocks of points of `width` seconds. */
interface Divided {
  blocking: Blocking | null;
  width: number;
}

/** All figures of a series share its blocks, by the second run, the first one, and the series. */
const DIVIDED = new WeakMap<Run, WeakMap<Run, Map<string, Divided>>>();

function blockingFor(a: Run, b: Run, pairs: Pair[], series: string): Divided {
  const ofB = DIVIDED.get(b) ?? new WeakMap<Run, Map<string, Divided>>();
  const known = ofB.get(a) ?? new Map<string, Divided>();
  DIVIDED.set(b, ofB.set(a, known));
  const found = known.get(series) ?? divided(a, b, pairs, series);
  known.set(series, found);
  return found;
}

function divided(a: Run, b: Run, pairs: Pair[], series: string): Divided {
  const width = Math.ceil(pairs.length / MOST_POINTS);
  const of = (key: string, sign: 1 | -1) => averaged(together(a, b, pairs, series, key, sign), width);
  const ratios = WITNESSES.map((key) => of(key, -1));
  // Under a steady load the product says as much as the ratio: else it also shows the load.
  const signs = isSteady(a) && isSteady(b) ? ([-1, 1] as const) : ([-1] as const);
  const feared = WITNESSES.some((key) => outlasts(signs.map((sign) => of(key, sign))));
  const points = Math.floor(pairs.length / width);
  const blocking = blockingOf(ratios.map(memoryOf), points);
  return { blocking: feared && blocking !== null ? outlasted(points) : blocking, width };
}

function averaged(values: number[], width: number): number[] {
  return Array.from({ length: Math.floor(values.length / width) }, (_, i) =>
    mean(values.slice(i * width, (i + 1) * width)),
  );
}

/** The logarithms of the ratio (−1), or of the product (1), of two runs by the second, as far as both have one. */
function together(a: Run, b: Run, pairs: Pair[], series: string, key: string, sign: 1 | -1): number[] {
  return pairs.flatMap((pair) => {
    const [x, y] = [a, b].map((run, i) => perSecond(run, pair[i] as number, series, key));
    return x == null || y == null || x <= 0 || y <= 0 ? [] : Math.log(y) + sign * Math.log(x);
  });
}

/** The statistic of pooled blocks; a string: why there is none; undefined: runs do not keep it by the second. */
function estimate(
  { run, histograms }: Recording,
  blocks: number[][],
  { name, limit }: Measure,
): Estimate | string | undefined {
  const [series = '', statistic = ''] = name.split('.');
  const rows = blocks.map((block) => block.flatMap((second) => run.timeline[second] ?? []));
  if (series === 'rate') {
    return ratio(
      rows.map((block) => ({
        sum: block.reduce((sum, row) => sum + row[statistic as 'requests'], 0),
        count: block.length,
      })),
    );
  }
  if (isStage(run, series)) {
    if (statistic !== 'mean') return undefined;
    return ratio(
      rows.map((block) =>
        weighted(block.map((row) => [row.stages?.[series], row.stamped ?? row.arrival?.count])),
      ),
    );
  }
  if (series !== 'arrival' && series !== 'http' && series !== 'from_send') return undefined;
  const seen = rows.flat().reduce((sum, row) => sum + (row[series]?.count ?? 0), 0);
  if (seen < LEAST_COVERED * run.latency[series].count) {
    return 'too many messages arrived after the measured phases';
  }
  if (statistic === 'mean') {
    return ratio(rows.map((block) => weighted(block.map((row) => [row[series]?.mean, row[series]?.count]))));
  }
  const percentile = PERCENTILES[statistic];
  const kept = histograms.get(series);
  if ((percentile ?? limit) === undefined || kept === undefined) return undefined;
  if (kept.size === 0) return 'arrival.hlog is missing';
  const none: Counted = { values: new Float64Array(), counts: new Float64Array() };
  const pools = blocks.map((block) => pooled(block.map((second) => kept.get(second) ?? none)));
  if (limit !== undefined) return ratio(pools.map((pool) => within(pool, limit)));
  return quantile(pools, percentile as number);
}

/** Sums of means weighted with their counts. */
function weighted(parts: [mean: number | null | undefined, count: number | undefined][]) {
  return parts.reduce(
    (total, [value, count]) =>
      value == null || count === undefined
        ? total
        : { sum: total.sum + value * count, count: total.count + count },
    { sum: 0, count: 0 },
  );
}
