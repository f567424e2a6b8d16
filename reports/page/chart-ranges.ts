/** The part of x and y that a chart shows. */
import type uPlot from 'uplot';
import { nines } from './chart-axes.ts';
import type { ChartData, Line } from './chart-data.ts';
import { highestMean } from './chart-paths.ts';

export function xRange({ kind, x, begin = 0, end }: ChartData): uPlot.Range.Function | [number, number] {
  const last = x.at(-1) ?? 1;
  // With few samples the median is the last percentile that is known.
  if (kind === 'percentile') return [nines(50), nines(Math.max(last, 75))];
  if (kind === 'bin') return [x[0] ?? 0, last + 1];
  // Room for half a tick beside the first and the last concurrency.
  if (kind === 'vus') return [(x[0] ?? 1) / 1.2, last * 1.2];
  return kind === 'load' ? [0, last * 1.05] : wholeSeconds(x, begin, end);
}

/** The range from the beginning to the end of the last second, or the one that the reader has zoomed to. */
function wholeSeconds(x: number[], begin: number, end: number | undefined): uPlot.Range.Function {
  const [first, last] = [x[0] ?? 0, x.at(-1) ?? 1];
  return (_u, min, max) => (min <= first && max >= last ? [begin, end ?? Math.ceil(last)] : [min, max]);
}

/** The part of x that the reader has chosen; undefined: all is shown. */
export function chosenRange({ data: [x], scales }: uPlot): { min: number; max: number } | undefined {
  const { min, max } = scales.x ?? {};
  if (min == null || max == null || (min <= (x[0] ?? 0) && max >= (x.at(-1) ?? 0))) return;
  return { min, max };
}

/** A range of y that is not about what comes after the load, unless nothing else is shown. */
export function withoutRest({ rest }: ChartData, range: uPlot.Range.Function): uPlot.Range.Function {
  if (rest === undefined) return range;
  return (u, min, max, key) => {
    const [from = 0, to = 0] = u.series[0]?.idxs ?? [];
    const values = u.series.flatMap(({ show, scale }, i) =>
      i === 0 || !show || scale !== key
        ? []
        : [...(u.data[i] ?? [])]
            .slice(from, to + 1)
            .filter((v, k) => v != null && (u.data[0][from + k] ?? 0) < rest),
    ) as number[];
    if (values.length === 0) return range(u, min, max, key);
    // Math.min(...values) would fail: a call takes fewer arguments than some hours have seconds.
    const [least, most] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return range(u, least, most, key);
  };
}

export const fromZero: uPlot.Range.Function = (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1];

/** A range up to what is drawn of a stack. */
export function stackRange({ rest = Number.POSITIVE_INFINITY }: ChartData): uPlot.Range.Function {
  return (u, min, _max, key) => fromZero(u, min, highestMean(u, rest), key);
}

/** The range from just below the smallest value to just above the largest. */
export function logRange(_u: uPlot, min: number | null, max: number | null): [number, number] {
  return min === null || max === null || min <= 0 ? [0.1, 1] : [min / 1.3, max * 1.3];
}

/** Log where the values span more than a factor of 10. */
export function wantsLog(lines: Line[]): boolean {
  const values = lines.flatMap(({ behind, values }) =>
    behind ? [] : values.filter((v): v is number => v !== null),
  );
  const max = values.reduce((a, b) => Math.max(a, b), 0);
  const min = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return min > 0 && max / min > 10;
}
