/** Figures of a distribution in µs, as run.json has them. */
import { encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
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

/** In ms; of a series that has a sample. */
function percentileOf({ histogram, max }: Sampled, p: number): number {
  return Math.min(histogram.getValueAtPercentile(p), max) / 1000;
}

export function latencyOf(series: Sampled): Latency {
  if (series.count === 0) {
    const none = { min: null, mean: null, p50: null, p75: null, p90: null, p95: null, p99: null, p999: null };
    return { count: 0, ...none, max: null, curve: [], histogram: null };
  }
  const at = (p: number) => percentileOf(series, p);
  return {
    count: series.count,
    min: series.min / 1000,
    mean: series.sum / series.count / 1000,
    p50: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    p999: at(99.9),
    max: series.max / 1000,
    curve: curveOf(series),
    histogram: encodeIntoCompressedBase64(series.histogram),
  };
}

/** Each step halves what is left: a straight line on the log axis that such a curve is drawn on. */
function curveOf(series: Sampled): [number, number][] {
  const points: [number, number][] = [];
  for (let i = 0, left = 1; left * series.count >= 1; i++, left = 0.5 ** (i / STEPS_A_HALF)) {
    const q = 100 * (1 - left);
    points.push([q, percentileOf(series, q)]);
  }
  return [...points, [100, series.max / 1000]];
}

export function briefOf(series: Sampled): Brief | null {
  if (series.count === 0) return null;
  const at = (p: number) => percentileOf(series, p);
  return {
    count: series.count,
    mean: series.sum / series.count / 1000,
    p50: at(50),
    p95: at(95),
    p99: at(99),
    max: series.max / 1000,
  };
}
