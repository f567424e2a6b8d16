/** Statistics of simulated samples, and the random numbers behind them. */
import type { Brief, Latency } from '../contract/run.ts';

const CURVE = [
  ...[50, 55, 60, 65, 70, 75, 80, 85, 90, 92, 94, 95, 96, 97, 98, 98.5, 99, 99.2, 99.4, 99.5, 99.6, 99.7],
  ...[99.8, 99.85, 99.9, 99.92, 99.94, 99.95, 99.96, 99.97, 99.98, 99.985, 99.99, 99.995, 99.999, 100],
];

/** The distribution of samples in ms. */
export function latency(samples: number[]): Latency {
  const sorted = Float64Array.from(samples).sort();
  const at = (percentile: number) => {
    const value = sorted[Math.max(0, Math.ceil((percentile / 100) * sorted.length) - 1)];
    return value === undefined ? null : digits(value);
  };
  return {
    count: sorted.length,
    min: at(0),
    mean: sorted.length ? round(average(samples)) : null,
    p50: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    p999: at(99.9),
    max: at(100),
    curve: sorted.length ? CURVE.map((percentile) => [percentile, at(percentile) as number]) : [],
    histogram: null,
  };
}

/** The main figures of samples in ms, null without samples. */
export function brief(samples: number[]): Brief | null {
  const { count, mean, p50, p95, p99, max } = latency(samples);
  return count ? { count, mean, p50, p95, p99, max } : null;
}

/** Samples in ms counted as in an interval's arrival_bins. */
export function bins(samples: number[]): number[] | null {
  if (samples.length === 0) return null;
  const numbers = samples.map((ms) => Math.floor(10 * Math.log10(Math.max(1, ms * 1e3))));
  const first = Math.min(...numbers);
  const counts = new Array<number>(Math.max(...numbers) - first + 1).fill(0);
  for (const number of numbers) counts[number - first] = (counts[number - first] ?? 0) + 1;
  return [first, ...counts];
}

export function average(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] as number;
  return sum / values.length;
}

/** Rounds to µs and 3 significant digits, like a histogram. */
function digits(ms: number): number {
  return Number((Math.round(ms * 1e3) / 1e3).toPrecision(3));
}

export function round(value: number, places = 4): number {
  return Number(value.toFixed(places));
}

/** A normally distributed number: mean 0, deviation 1. */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A small random number generator with a seed, 0 <= x < 1. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
