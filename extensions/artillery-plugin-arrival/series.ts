/** Times in µs. The histogram gives the percentiles; count, sum, min and max are exact, so that the stages' means add up. */
import * as hdr from 'hdr-histogram-js';
import type { Brief, Latency } from '../../reports/run.ts';

/** µs; what is longer counts as one hour in the percentiles, and as itself in mean and max. */
const HIGHEST = 3_600_000_000;
const BINS_A_DECADE = 10;
const STEPS_A_HALF = 4;

export class Series {
  readonly histogram;
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  /** What was added since the last reset, by bin of the page's heatmap. */
  #bins = new Map<number, number>();

  /** @param digits significant ones, of the percentiles */
  constructor(digits: 2 | 3 = 3) {
    this.histogram = hdr.build({
      lowestDiscernibleValue: 1,
      highestTrackableValue: HIGHEST,
      numberOfSignificantValueDigits: digits,
    });
  }

  /** @param us a time below zero enters the histogram as zero */
  add(us: number): void {
    this.count++;
    this.sum += us;
    this.min = Math.min(this.min, us);
    this.max = Math.max(this.max, us);
    this.histogram.recordValue(Math.min(Math.max(us, 0), HIGHEST));
    const bin = Math.floor(Math.log10(Math.max(us, 1)) * BINS_A_DECADE + 1e-9);
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1);
  }

  merge(other: Series): void {
    this.count += other.count;
    this.sum += other.sum;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
    this.histogram.add(other.histogram);
  }

  reset(): void {
    this.histogram.reset();
    this.#bins = new Map();
    this.count = this.sum = 0;
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
  }

  /** µs; undefined without a sample. */
  percentile(p: number): number | undefined {
    return this.count === 0 ? undefined : Math.min(this.histogram.getValueAtPercentile(p), this.max);
  }

  /** The number of the first bin, then the counts of it and those that follow. */
  bins(): number[] | null {
    if (this.count === 0) return null;
    const first = Math.min(...this.#bins.keys());
    const last = Math.max(...this.#bins.keys());
    return [first, ...Array.from({ length: last - first + 1 }, (_, i) => this.#bins.get(first + i) ?? 0)];
  }
}

export function latencyOf(series: Series): Latency {
  if (series.count === 0) {
    const none = { min: null, mean: null, p50: null, p75: null, p90: null, p95: null, p99: null, p999: null };
    return { count: 0, ...none, max: null, curve: [], histogram: null };
  }
  const at = (p: number) => (series.percentile(p) as number) / 1000;
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
    histogram: hdr.encodeIntoCompressedBase64(series.histogram),
  };
}

/** Each step halves what is left: a straight line on the log axis that such a curve is drawn on. */
function curveOf(series: Series): [number, number][] {
  const points: [number, number][] = [];
  for (let i = 0, left = 1; left * series.count >= 1; i++, left = 0.5 ** (i / STEPS_A_HALF)) {
    const q = 100 * (1 - left);
    points.push([q, (series.percentile(q) as number) / 1000]);
  }
  return [...points, [100, series.max / 1000]];
}

export function briefOf(series: Series): Brief | null {
  if (series.count === 0) return null;
  const at = (p: number) => (series.percentile(p) as number) / 1000;
  return {
    count: series.count,
    mean: series.sum / series.count / 1000,
    p50: at(50),
    p95: at(95),
    p99: at(99),
    max: series.max / 1000,
  };
}
