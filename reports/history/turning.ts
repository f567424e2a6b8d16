/** Finds where the level of a series of runs changed permanently. Pure, and seeded. */
import { generator } from '../random.ts';

/** The first index of the new level, and its median over the median before. */
export interface Turn {
  at: number;
  ratio: number;
}

/** So many values in a row are a level: two outliers are none. */
const LEAST = 3;
/** The fewest values: with fewer no order is rare enough. */
const LEAST_VALUES = 10;
/** A smaller change matters to nobody. */
const LEAST_CHANGE = 0.05;
/** The share of series without a change in which one is found all the same. */
const FALSE_ALARMS = 0.01;
const SHUFFLES = 999;
const SEED = 20_221_109;

/**
 * The last change of level. Ranks make it robust (Pettitt 1979): an outlier is one rank. How much the ranks of random orders of the
 * same values differ tells whether theirs is chance, whatever the distribution of the values (a permutation test). A series with
 * several changes is divided at the strongest one first.
 */
export function lastTurn(values: readonly number[]): Turn | null {
  let from = 0;
  let found: Turn | null = null;
  while (true) {
    const at = strongest(values.slice(from));
    if (at === null) return found;
    found = { at: from + at, ratio: ratioAt(values.slice(from), at) };
    from += at;
  }
}

function strongest(values: readonly number[]): number | null {
  if (values.length < LEAST_VALUES) return null;
  const ranks = ranksOf(values);
  const { at, size } = furthest(ranks);
  if (Math.abs(Math.log(ratioAt(values, at))) < Math.log1p(LEAST_CHANGE)) return null;
  const random = generator(SEED);
  let asFar = 0;
  for (let i = 0; i < SHUFFLES; i++) {
    shuffle(ranks, random);
    if (furthest(ranks).size >= size - 1e-9) asFar++;
  }
  return (asFar + 1) / (SHUFFLES + 1) <= FALSE_ALARMS ? at : null;
}

/** The division whose parts' ranks are furthest apart, and how many standard deviations that is. */
function furthest(ranks: readonly number[]): { at: number; size: number } {
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
  return best;
}

/** 1 is the smallest; equal values share the mean of their ranks. */
function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2 + 1);
}

function ratioAt(values: readonly number[], at: number): number {
  return median(values.slice(at)) / median(values.slice(0, at));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2;
}

/** Fisher and Yates. */
function shuffle(values: number[], random: () => number): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j] as number, values[i] as number];
  }
}
