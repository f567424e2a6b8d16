/** Intervals for the ratio of two figures, from repeated runs or from blocks of one run each. Pure, and seeded. */
import jstat from 'jstat';
import { generator } from '../random.ts';
import type { Estimate } from './pools.ts';

/** A division of the seconds into blocks. */
export interface Blocking {
  /** Seconds of a block. */
  length: number;
  count: number;
  /** The variance of blocks is too small by this factor, as they are not independent, and as that is not known well. */
  inflation: number;
  /** The memory may outlast it: how much runs differ is anybody's guess. */
  outlasted?: true;
}

/** The confidence level: without a difference 1 % of the intervals exclude 0. */
export const CONFIDENCE = 0.99;
/**
 * The resolution of a difference: histograms keep 3 significant digits, steps of up to 0.1 % of a value, so runs in the same step
 * may differ.
 */
export const RESOLUTION = 0.001;
/** How often as many more runs as are said have to suffice (assurance: O'Hagan, Stevens and Campbell 2005). */
const ASSURANCE = 0.8;
const RESAMPLES = 400;
const SEED = 20_221_109;

/** An interval of the ratio, as natural logarithms. */
export interface LogInterval {
  low: number;
  high: number;
  /**
   * How far it reaches from the difference with so many more runs on each side, if they vary as these do, and the difference moves no
   * further than in {@link ASSURANCE} of the cases. Absent: not known.
   */
  with?: (more: number) => number;
}

/**
 * The interval from repeats: Welch's test. A single run on one side is assumed to have the spread of the other side.
 * @param base @param other logarithms of the figure, one a run; at least two on one side
 */
export function fromRepeats(
  base: readonly number[],
  other: readonly number[],
  resolution = RESOLUTION,
): LogInterval {
  const of = (one: readonly number[], another: readonly number[]) =>
    one.length < 2 ? { variance: variance(another), alone: true } : { variance: variance(one), alone: false };
  const [one, two] = [of(base, other), of(other, base)];
  const spread = (more: number) => {
    const [n, m] = [base.length + more, other.length + more];
    const [a, b] = [one.variance / n, two.variance / m];
    const welch = (a + b) ** 2 / (a ** 2 / (n - 1) + b ** 2 / (m - 1));
    const freedom = a + b === 0 || (more === 0 && (one.alone || two.alone)) ? n + m - 2 : welch;
    return { error: Math.sqrt(a + b), freedom };
  };
  const now = spread(0);
  const reach = (more: number) => {
    const { error, freedom } = spread(more);
    return reachOf(error, freedom, resolution) + movesBy(now.error, error, now.freedom);
  };
  return around(mean(other) - mean(base), reach);
}

/**
 * The interval from blocks of one run each. The i-th blocks of both runs have the same load, so pairs of blocks are drawn (with
 * replacement), and the effect of the profile cancels out.
 * @param difference the difference of the logarithms, as measured
 * @param inflation what the variance of blocks is too small by, as they are not independent
 * @returns null if a resample has no such figure
 */
export function fromBlocks(
  difference: number,
  base: Estimate,
  other: Estimate,
  { count: blocks, inflation, outlasted }: Omit<Blocking, 'length'>,
  resolution = RESOLUTION,
): LogInterval | null {
  const random = generator(SEED);
  const weights = new Float64Array(blocks);
  const differences: number[] = [];
  for (let r = 0; r < RESAMPLES; r++) {
    weights.fill(0);
    for (let i = 0; i < blocks; i++) {
      const drawn = Math.floor(random() * blocks);
      weights[drawn] = (weights[drawn] as number) + 1;
    }
    const [a, b] = [base(weights), other(weights)];
    if (a === null || b === null || a <= 0 || b <= 0) return null;
    differences.push(Math.log(b / a));
  }
  const error = Math.sqrt((inflation * variance(differences) * blocks) / (blocks - 1));
  const reach = (more: number) => {
    if (more === 0) return reachOf(error, blocks - 1, resolution);
    const left = error / Math.sqrt(1 + more);
    return reachOf(left, 2 * more, resolution) + movesBy(error, left, blocks - 1);
  };
  const { low, high } = around(difference, reach);
  return { low, high, ...(outlasted !== true && { with: reach }) };
}

/** Student's t, both sides. */
export function criticalValue(freedom: number): number {
  return jstat.studentt.inv((1 + CONFIDENCE) / 2, freedom);
}

/** How often Student's t is beyond a value, on either side. */
export function missed(value: number, freedom: number): number {
  return 2 * jstat.studentt.cdf(-value, freedom);
}

function reachOf(error: number, freedom: number, resolution: number): number {
  return criticalValue(freedom) * Math.max(error, resolution);
}

/** How far a difference moves, in {@link ASSURANCE} of the cases, while more runs make its error smaller. */
function movesBy(error: number, left: number, freedom: number): number {
  return jstat.studentt.inv(ASSURANCE, freedom) * Math.sqrt(Math.max(0, error ** 2 - left ** 2));
}

function around(centre: number, reach: (more: number) => number): LogInterval {
  return { low: centre - reach(0), high: centre + reach(0), with: reach };
}

export const { mean } = jstat;

export const variance = (values: readonly number[]) => jstat.variance(values, true);
