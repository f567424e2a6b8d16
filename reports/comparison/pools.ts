/** Statistics of pooled blocks, weighted by how often a resample drew each. */
import type { Counted } from './seconds.ts';

/** @param weights the weight of each block. @returns null without samples */
export type Estimate = (weights: ArrayLike<number>) => number | null;

/** Σ sums / Σ counts. */
export function ratio(blocks: readonly { sum: number; count: number }[]): Estimate {
  return (weights) => {
    let sum = 0;
    let count = 0;
    for (let i = 0; i < blocks.length; i++) {
      const weight = weights[i] as number;
      sum += weight * (blocks[i] as { sum: number }).sum;
      count += weight * (blocks[i] as { count: number }).count;
    }
    return count > 0 ? sum / count : null;
  };
}

/** A percentile (0..100) of the pooled distributions. */
export function quantile(blocks: readonly Counted[], percentile: number): Estimate {
  const { values, rows } = aligned(blocks);
  const total = new Float64Array(values.length);
  return (weights) => {
    total.fill(0);
    let count = 0;
    for (let b = 0; b < rows.length; b++) {
      const weight = weights[b] as number;
      if (weight === 0) continue;
      const { at, counts } = rows[b] as (typeof rows)[number];
      for (let i = 0; i < at.length; i++) {
        const more = weight * (counts[i] as number);
        total[at[i] as number] = (total[at[i] as number] as number) + more;
        count += more;
      }
    }
    if (count === 0) return null;
    // HdrHistogram's rank: the nearest, at least one.
    let left = Math.max(1, Math.ceil((percentile / 100) * count - 1e-9));
    for (let i = 0; i < total.length; i++) {
      left -= total[i] as number;
      if (left <= 0) return values[i] as number;
    }
    return values.at(-1) ?? null;
  };
}

/** The same distributions over one list of values. */
function aligned(blocks: readonly Counted[]) {
  const values = Float64Array.from(new Set(blocks.flatMap((block) => [...block.values]))).sort();
  const index = new Map<number, number>();
  values.forEach((value, i) => {
    index.set(value, i);
  });
  const rows = blocks.map((block) => ({
    at: Uint32Array.from(block.values, (value) => index.get(value) as number),
    counts: block.counts,
  }));
  return { values, rows };
}

/** Pools distributions. */
export function pooled(parts: readonly Counted[]): Counted {
  const { values, rows } = aligned(parts);
  const counts = new Float64Array(values.length);
  for (const row of rows) {
    row.at.forEach((at, i) => {
      counts[at] = (counts[at] as number) + (row.counts[i] as number);
    });
  }
  return { values, counts };
}
