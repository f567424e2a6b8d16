/** Times in µs. The histogram gives the percentiles; count, sum, min and max are exact, so that the stages' means add up. */
import { build } from 'hdr-histogram-js';
import { FORM, HIGHEST, type Sampled } from '../../reports/latency.ts';

const BINS_A_DECADE = 10;

export class Series implements Sampled {
  readonly histogram;
  count = 0;
  sum = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  /** What was added since the last reset, by bin of the page's heatmap. */
  #bins = new Map<number, number>();

  /** @param digits significant ones, of the percentiles */
  constructor(digits: 2 | 3 = 3) {
    this.histogram = build({ ...FORM, numberOfSignificantValueDigits: digits });
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
