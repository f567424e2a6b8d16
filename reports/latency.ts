/** Figures of a distribution in µs, as run.json has them. */
import { encodeIntoCompressedBase64, type Histogram, type JsHistogram } from 'hdr-histogram-js';
import type { Brief, Latency } from './run.ts';

/** The histogram gives the percentiles; count, sum, min and max are exact, so that the stages' means add up. */
export interface Sampled {
  readonly histogram: Histogram;
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** µs; what is longer counts as one hour in the percentiles, and as itself in mean and max. */
export const HIGHEST = 3_600_000_000;
/** Of the histograms, here and in extensions/k6/internal/ledger: with the same ones they can be added without loss. */
export const FORM = {
  lowestDiscernibleValue: 1,
  highestTrackableValue: HIGHEST,
  numberOfSignificantValueDigits: 3,
} as const;

const STEPS_A_HALF = 4;

type Six = [number, number, number, number, number, number];

/**
 * In ms, at percentiles that ascend; of a series that has a sample. In one pass: `getValueAtPercentile` begins anew for each, so the 50 of
 * a curve took a millisecond, in which a thread that receives did not.
 */
function percentilesOf({ histogram, max }: Sampled, percentiles: readonly number[]): number[] {
  const counts = histogram as JsHistogram;
  const total = histogram.totalCount;
  let index = -1;
  let passed = 0;
  return percentiles.map((p) => {
    // Rounded up, but for what a product of floating-point numbers is above the whole number that it means.
    const wanted = Math.max(1, Math.ceil((p / 100) * total * (1 - Number.EPSILON)));
    while (passed < wanted && index + 1 < counts.countsArrayLength) passed += counts.getCountAtIndex(++index);
    const value = counts.valueFromIndex(index);
    const equivalent = p === 0 ? counts.lowestEquivalentValue(value) : counts.highestEquivalentValue(value);
    return Math.min(equivalent, max) / 1000;
  });
}

export function latencyOf(series: Sampled): Latency {
  if (series.count === 0) {
    const none = { min: null, mean: null, p50: null, p75: null, p90: null, p95: null, p99: null, p999: null };
    return { count: 0, ...none, max: null, curve: [], histogram: null };
  }
  const [p50, p75, p90, p95, p99, p999] = percentilesOf(series, [50, 75, 90, 95, 99, 99.9]) as Six;
  return {
    count: series.count,
    min: series.min / 1000,
    mean: series.sum / series.count / 1000,
    p50,
    p75,
    p90,
    p95,
    p99,
    p999,
    max: series.max / 1000,
    curve: curveOf(series),
    histogram: encodeIntoCompressedBase64(series.histogram),
  };
}

/** Each step halves what is left: a straight line on the log axis that such a curve is drawn on. */
function curveOf(series: Sampled): [number, number][] {
  const percentiles: number[] = [];
  for (let i = 0, left = 1; left * series.count >= 1; i++, left = 0.5 ** (i / STEPS_A_HALF))
    percentiles.push(100 * (1 - left));
  const values = percentilesOf(series, percentiles);
  return [...percentiles.map((q, i): [number, number] => [q, values[i] as number]), [100, series.max / 1000]];
}

export function briefOf(series: Sampled): Brief | null {
  if (series.count === 0) return null;
  const [p50, p95, p99] = percentilesOf(series, [50, 95, 99]) as [number, number, number];
  return {
    count: series.count,
    mean: series.sum / series.count / 1000,
    p50,
    p95,
    p99,
    max: series.max / 1000,
  };
}
