/** Finds where the level of a series of runs changed permanently. Pure, and seeded. */
import jstat from 'jstat';
import { generator } from '../random.ts';

/** The first index of the new level, and its median over the median before, as measured. */
export interface ChangePoint {
  at: number;
  ratio: number;
  /** The same of the values that are adjusted for the machine's times. Absent: as measured, or those times are not known. */
  adjusted?: number;
  /** How much slower the machine is from there on, as a ratio, where that explains it. null: not known. Absent: it does not. */
  machine?: number | null;
  /** Where the machine is not known: the first of three values in a row that had the new level before. Absent: none had. */
  back?: number;
}

/** So many values in a row are a level: two outliers are none. */
const LEAST = 3;
/** The fewest values: with fewer no order is rare enough. */
const LEAST_VALUES = 10;
/** A smaller change matters to nobody. */
const LEAST_CHANGE = 0.05;
/** Ratios that differ by less are shown as one. */
const LEAST_ADJUSTED = 0.01;
/** How often one is found in a series without a change: a history is looked at after each run. */
const FALSE_ALARMS = 0.01;
const SIMULATED = 999;
const SEED = 20_221_109;

/**
 * The last change of level. One that is gone once the runs are adjusted for the times of their machine is the machine's.
 * @param times how long the same work took on the machine of each run; null: not known
 */
export function lastChangePoint(
  values: readonly number[],
  times: readonly (number | null)[] = [],
): ChangePoint | null {
  const known = times.slice(times.lastIndexOf(null) + 1) as number[];
  if (known.length < LEAST_VALUES) return blind(values);
  const from = values.length - known.length;
  const own = lastOf(adjusted(values.slice(from), known), values.slice(from));
  if (own !== null) return { ...own, at: from + own.at };
  const seen = lastOf(values.slice(from));
  if (seen === null) {
    // what was before the times were known still counts
    const before = blind(values);
    return before !== null && before.at <= from ? before : null;
  }
  const machine = ratioAt(known, seen.at);
  return Math.abs(Math.log(machine)) < Math.log1p(LEAST_CHANGE)
    ? null
    : { ...seen, at: from + seen.at, machine };
}

/**
 * The last change of level, of runs whose machine is not known. One that leads back to a level of before may be another machine: two
 * that take turns make such changes all the time, and a new level only once.
 */
function blind(values: readonly number[]): ChangePoint | null {
  const found = lastOf(values);
  if (found === null) return null;
  const level = Math.log(jstat.median(values.slice(found.at)));
  const near = Math.abs(Math.log(found.ratio)) / NEAR;
  const isThere = (from: number) =>
    Math.abs(Math.log(jstat.median(values.slice(from, from + LEAST))) - level) < near;
  const back = values
    .slice(0, Math.max(0, found.at - 2 * LEAST + 1))
    .findLastIndex((_, from) => isThere(from));
  return { ...found, machine: null, ...(back >= 0 && { back }) };
}

/** Levels are the same if they are apart by a smaller part of the change. */
const NEAR = 4;

/**
 * Values as of a machine that is always as fast: without what goes with its times from one run to the next. The slope is the median of
 * those between neighbours, weighted with the square of how far apart their times are: a change of level is between two runs only.
 */
function adjusted(values: readonly number[], times: readonly number[]): number[] {
  const slopes = values.slice(1).map((value, i) => {
    const apart = Math.log(times[i + 1] as number) - Math.log(times[i] as number);
    const change = Math.log(value) - Math.log(values[i] as number);
    return { slope: apart === 0 ? 0 : change / apart, weight: apart ** 2 };
  });
  slopes.sort((a, b) => a.slope - b.slope);
  let left = slopes.reduce((sum, { weight }) => sum + weight, 0) / 2;
  const middle = slopes.find(({ weight }) => {
    left -= weight;
    return left <= 0;
  });
  const slope = Math.max(0, middle?.slope ?? 0);
  return values.map((value, i) => value / (times[i] as number) ** slope);
}

/**
 * The last change of level. Ranks find where (Pettitt 1979), as an outlier is one rank; Student's t of the two levels, with outliers
 * cut, says how far they are apart. How far they are in series of as much memory without a change tells whether it is chance. A series
 * with several changes is divided at the strongest one first.
 * @param measured the values before they were adjusted
 */
function lastOf(values: readonly number[], measured = values): ChangePoint | null {
  let from = 0;
  let found: ChangePoint | null = null;
  while (true) {
    const at = strongest(values.slice(from));
    if (at === null) return found;
    const [ratio, own] = [ratioAt(measured.slice(from), at), ratioAt(values.slice(from), at)];
    const apart = Math.abs(Math.log(own / ratio)) >= Math.log1p(LEAST_ADJUSTED);
    found = { at: from + at, ratio, ...(apart && { adjusted: own }) };
    from += at;
  }
}

function strongest(values: readonly number[]): number | null {
  if (values.length < LEAST_VALUES) return null;
  const logs = values.map((value) => Math.log(Math.max(value, Number.MIN_VALUE)));
  const at = furthest(jstat.rank(logs));
  if (Math.abs(Math.log(ratioAt(values, at))) < Math.log1p(LEAST_CHANGE)) return null;
  return sizeOf(logs, at) > chanceSize(values.length, memoryOf(logs, at)) ? at : null;
}

/** How far two levels are apart: Student's t of values that are cut where they are outliers of their level. */
function sizeOf(values: readonly number[], at: number): number {
  const sides = [values.slice(0, at), values.slice(at)];
  const rest = restOf(values, at);
  const most = OUTLIER * DEVIATION * jstat.median(rest.map(Math.abs));
  const cut = rest.map((value) => Math.max(-most, Math.min(most, value)));
  const [one, two] = sides.map(
    (side, i) => jstat.median(side) + jstat.mean(i === 0 ? cut.slice(0, at) : cut.slice(at)),
  );
  const spread = Math.sqrt(cut.reduce((sum, value) => sum + value ** 2, 0) / (cut.length - 2));
  return (
    Math.abs((two as number) - (one as number)) / (spread * Math.sqrt(1 / at + 1 / (values.length - at)))
  );
}

/** Standard deviations from which on a value is cut (Leys et al. 2013). */
const OUTLIER = 2.5;
/** The standard deviation of normal values over the median of their absolute deviations (Hampel 1974). */
const DEVIATION = 1.4826;

/** What each value is above the median of its level. */
function restOf(values: readonly number[], at: number): number[] {
  return [values.slice(0, at), values.slice(at)].flatMap((side) => {
    const level = jstat.median(side);
    return side.map((value) => value - level);
  });
}

/**
 * How much a run is like the one before, beside a change of level, and another one before or after it: the autocorrelation of ranks,
 * without its bias in short series.
 */
function memoryOf(values: readonly number[], at: number): number {
  const sides = [values.slice(0, at), values.slice(at)];
  const rest = sides.flatMap((side) =>
    restOf(side, side.length < LEAST_VALUES ? 0 : furthest(jstat.rank(side))),
  );
  const n = rest.length;
  const ranks = jstat.rank(rest).map((rank) => rank - (n + 1) / 2);
  const products = ranks.slice(1).reduce((sum, value, i) => sum + value * (ranks[i] as number), 0);
  const power = ranks.reduce((sum, value) => sum + value ** 2, 0);
  const seen = power === 0 ? 0 : products / power;
  // Kendall (1954), for each of the levels.
  const levels = sides.reduce((sum, { length }) => sum + (length < LEAST_VALUES ? 1 : 2), 0);
  return Math.min(MOST_MEMORY, Math.max(0, seen + (((1 + 3 * seen) / n) * levels) / 2));
}

const MOST_MEMORY = 0.9;
/** Memories and numbers of values are looked up in steps, the next greater one. */
const STEP = 0.1;
const COUNTS = [10, 12, 14, 17, 20, 25, 30, 40, 50, 70, 100, 140, 200];
const SIZES = new Map<string, number>();

/** The size that a change has by chance in so many values as often as {@link FALSE_ALARMS} allows, if they are autoregressive. */
function chanceSize(count: number, memory: number): number {
  const like = Math.ceil(memory / STEP - 1e-9) * STEP;
  const values = COUNTS.find((one) => one >= count) ?? count;
  const key = `${values} ${like}`;
  const known = SIZES.get(key);
  if (known !== undefined) return known;
  const random = generator(SEED);
  const sizes = Array.from({ length: SIMULATED }, () => {
    const made = series(values, like, random);
    return sizeOf(made, furthest(jstat.rank(made)));
  });
  sizes.sort((a, b) => b - a);
  const size = sizes[Math.floor(FALSE_ALARMS * (SIMULATED + 1)) - 1] as number;
  SIZES.set(key, size);
  return size;
}

function series(count: number, memory: number, random: () => number): number[] {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let state = normal();
  return Array.from({ length: count }, () => {
    state = memory * state + Math.sqrt(1 - memory ** 2) * normal();
    return state;
  });
}

/** The division whose parts' ranks are furthest apart. */
function furthest(ranks: readonly number[]): number {
  const n = ranks.length;
  let best = { at: LEAST, size: -1 };
  let sum = 0;
  for (let at = 1; at <= n - LEAST; at++) {
    sum += ranks[at - 1] as number;
    if (at < LEAST) continue;
    const expected = (at * (n + 1)) / 2;
    const size = Math.abs(sum - expected) / Math.sqrt((at * (n - at) * (n + 1)) / 12);
    if (size > best.size) best = { at, size };
  }
  return best.at;
}

function ratioAt(values: readonly number[], at: number): number {
  return jstat.median(values.slice(at)) / jstat.median(values.slice(0, at));
}
