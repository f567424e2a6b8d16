/**
 * The events behind a figure: pauses, bursts and slow spells, which are far fewer than the samples that they delay. Pure.
 * An event is a second whose own figure is above a level; seconds in a cluster count as one.
 */
import jstat from 'jstat';
import type { Run } from '../contract/run.ts';
import { plural } from '../format.ts';
import { measuredSeconds } from '../page/facts.ts';
import { MUCH, type Word } from './comparison.ts';
import { CONFIDENCE, variance } from './intervals.ts';
import { type Measure, measureOf } from './measures.ts';
import type { Recording } from './recording.ts';
import { type Counted, isSteady, PERCENTILES, pairsOf, perSecond, within } from './seconds.ts';

/** Fewer events on either side do not show that two figures are equal. */
const LEAST_EVENTS = 5;
/** How often chance may make the numbers of events so different where a figure is called different; a large difference is rare already. */
const CHANCE = 1 - CONFIDENCE;
const CHANCE_IF_LARGE = 0.05;

/** Why the events behind a figure of two runs are too few for a word; null: they are enough, or it is not known by the second. */
export function fewEvents(a: Recording, b: Recording, measure: Measure, word: Word): string | null {
  const [x, y] = [measure.of(a.run), measure.of(b.run)];
  if (x === null || y === null) return null;
  const slow = word === 'equal' ? ownSlow(a, b, measure, x, y) : slowerSeconds(a, b, measure, x, y);
  if (slow === null) return null;
  // A load that changes makes clusters of seconds, in both runs alike.
  const count =
    isSteady(a.run) && isSteady(b.run) ? eventsOf : (seconds: boolean[]) => seconds.filter(Boolean).length;
  const [some, others] = slow.map(count) as [number, number];
  if (word === 'equal' ? Math.min(some, others) >= LEAST_EVENTS : differ(some, others, slow, x, y))
    return null;
  const name = measure.name.replace(/^\w+\./, '').replace('p999', 'p99.9');
  return `too few pauses in the run to compare ${name}: ${Math.round(some)} and ${plural(Math.round(others), 'event')} behind it`;
}

/** Whether the numbers of events differ by more than chance; of a large difference also where no second of a short run disagrees. */
function differ(some: number, others: number, slow: readonly boolean[][], x: number, y: number): boolean {
  const large = Math.abs(Math.log(y / x)) >= Math.log(MUCH);
  const agree = slow.some((seconds) => seconds.length > 0 && seconds.every(Boolean));
  return chanceOf(some, others) <= (large ? CHANCE_IF_LARGE : CHANCE) || (large && agree);
}

/**
 * The seconds in which only the first of two runs is slow, and those in which only the second is, by a level between their figures x
 * and y. Pairs of seconds have the same load: what is slow in both says nothing.
 */
function slowerSeconds(
  a: Recording,
  b: Recording,
  measure: Measure,
  x: number,
  y: number,
): boolean[][] | null {
  const [series = '', statistic = ''] = measure.name.split('.');
  if (statistic === 'mean') {
    const half = Math.abs(Math.log(y / x)) / 2;
    const ratios = pairsOf(a.run, b.run).map((pair) => {
      const [one, other] = [a, b].map(({ run }, i) => perSecond(run, pair[i] as number, series, 'mean'));
      return one == null || other == null ? null : Math.log(other / one);
    });
    if (ratios.every((ratio) => ratio === null)) return null;
    return [-1, 1].map((sign) => ratios.map((ratio) => ratio !== null && sign * ratio > half));
  }
  const level = measure.kind === 'share' ? 1 - (x + y) / 2 : Math.sqrt(x * y);
  const pairs = pairsOf(a.run, b.run);
  const [one, two] = [a, b].map((run, i) =>
    above(
      run,
      measure,
      level,
      pairs.map((pair) => pair[i] as number),
    ),
  );
  if (one === undefined || two === undefined) return null;
  const only = (some: boolean[], others: boolean[]) => some.map((is, i) => is && others[i] !== true);
  return [only(one, two), only(two, one)];
}

/** The seconds of each of two runs that are above its own percentile. */
function ownSlow(a: Recording, b: Recording, measure: Measure, x: number, y: number): boolean[][] | null {
  if (measure.kind === 'share') return null;
  const [one, two] = [above(a, measure, x, secondsOf(a.run)), above(b, measure, y, secondsOf(b.run))];
  return one === undefined || two === undefined ? null : [one, two];
}

/** The seconds whose percentile, or share beyond the limit, is above a level; undefined: the run does not know. */
function above(
  recording: Recording,
  { name, limit }: Measure,
  level: number,
  seconds: readonly number[],
): boolean[] | undefined {
  const [series = '', statistic = ''] = name.split('.');
  const kept = keptOf(recording, series, seconds);
  const percentile = PERCENTILES[statistic];
  if (kept === null) return undefined;
  if (limit !== undefined) {
    return kept.map((second) => {
      const { sum, count } = within(second, limit);
      return count - sum > level * count;
    });
  }
  if (percentile === undefined) return undefined;
  return kept.map(({ values, counts }) => {
    let [slow, all] = [0, 0];
    values.forEach((value, i) => {
      all += counts[i] as number;
      if (value > level) slow += counts[i] as number;
    });
    return slow > (1 - percentile / 100) * all;
  });
}

const secondsOf = (run: Run) => measuredSeconds(run).map(({ t }) => t);

/** The histograms of seconds, in their order; null: there are none. */
function keptOf({ histograms }: Recording, series: string, seconds: readonly number[]) {
  const kept = histograms.get(series);
  if (kept === undefined || kept.size === 0) return null;
  const none: Counted = { values: new Float64Array(), counts: new Float64Array() };
  return seconds.map((second) => kept.get(second) ?? none);
}

/** The clusters of such seconds: the intervals estimator of the extremal index (Ferro and Segers 2003), around the end of the run. */
export function eventsOf(seconds: readonly boolean[]): number {
  const at = seconds.flatMap((is, t) => (is ? [t] : []));
  const gaps = at.map((t, i) => (at[i + 1] ?? (at[0] as number) + seconds.length) - t);
  if (gaps.length < 2) return gaps.length;
  const few = gaps.every((gap) => gap <= 2);
  const sum = (of: (gap: number) => number) => gaps.reduce((total, gap) => total + of(gap), 0);
  const squares = few ? sum((gap) => gap ** 2) : sum((gap) => (gap - 1) * (gap - 2));
  const index = (2 * sum((gap) => (few ? gap : gap - 1)) ** 2) / (gaps.length * squares);
  return at.length * Math.min(1, index);
}

/** How often chance makes two numbers so different: of events of the same rate (Przyborowski and Wilenski 1940), and of pairs (McNemar 1947). */
export function chanceOf(some: number, others: number): number {
  const [least, most] = [Math.min(some, others), Math.max(some, others)].map(Math.round) as [number, number];
  return least === most ? 1 : Math.min(1, 2 * jstat.binomial.cdf(least, least + most, 0.5));
}

/** The fewest seconds, and the variance of where a figure lies between two samples, relative to any place, that show a common phase. */
const LEAST_SECONDS = 5;
const COMMON = 1 / 3;

/**
 * To what a figure is known at best, as a standard deviation relative to it: a pause is seen only through the messages in it, some ms
 * apart. Where they are due at the same moment of each pause, more pauses do not show its length any better. 0: of other figures.
 */
export function samplingStep(recording: Recording, measure: Measure): number {
  const [series = '', statistic = ''] = measure.name.split('.');
  const seconds = keptOf(recording, series, secondsOf(recording.run));
  const figure = measure.of(recording.run);
  if (seconds === null || figure === null) return 0;
  if (statistic === 'mean')
    return meanStep(seconds, figure, measureOf(`${series}.p999`)?.of(recording.run) ?? 0);
  return PERCENTILES[statistic] === undefined ? 0 : percentileStep(seconds, figure);
}

function percentileStep(seconds: readonly Counted[], figure: number): number {
  const steps = seconds.flatMap(({ values }) => {
    const i = values.findIndex((value) => value >= figure * (1 - 1e-3));
    if (i < 1) return [];
    const [below, above] = [values[i - 1] as number, values[i] as number];
    return [{ size: above - below, at: (above - figure) / (above - below) }];
  });
  if (steps.length < LEAST_SECONDS || variance(steps.map(({ at }) => at)) > COMMON / 12) return 0;
  return jstat.median(steps.map(({ size }) => size)) / Math.sqrt(12) / figure;
}

/** The least step of a mean: each pause may have one message more or less, at its longest, and the run one pause. @param top p99.9, ms; 0: not known */
function meanStep(seconds: readonly Counted[], figure: number, top: number): number {
  const all = seconds.reduce((sum, { counts }) => counts.reduce((total, count) => total + count, sum), 0);
  const pauses = seconds.flatMap(({ values, counts }) => {
    let sum = 0;
    values.forEach((value, i) => {
      if (value > top / 2) sum += value * (counts[i] as number);
    });
    return sum === 0 ? [] : [{ sum, longest: values.at(-1) as number }];
  });
  if (top === 0 || pauses.length < LEAST_SECONDS) return 0;
  const sums = pauses.map(({ sum }) => sum);
  const phase = Math.max(0, jstat.median(pauses.map(({ longest }) => longest)) ** 2 / 12 - variance(sums));
  return Math.hypot(pauses.length * Math.sqrt(phase), jstat.median(sums) / Math.sqrt(6)) / all / figure;
}
