/** The axes of charts: names, ticks and their texts. */
import type uPlot from 'uplot';
import { clock, count, local } from '../format.ts';
import type { ChartData } from './chart-data.ts';
import { widthOf } from './chart-hooks.ts';
import { binStart } from './heat.ts';

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
export const COUNTS = Array.from({ length: 13 }, (_, e) => [1, 2, 5].map((step) => step * 10 ** e)).flat();
/** The room beside a plot and for the text of a percentile, px. */
const [AXIS_ROOM, TICK_ROOM] = [76, 24];
const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999];
export const X_NAMES = {
  time: 'time',
  percentile: 'percentile',
  vus: 'VUs',
  runs: 'run',
  load: 'messages/s',
  bin: 'latency',
};
export const X_TITLES = {
  ...X_NAMES,
  time: 'time, m:ss',
  load: 'messages per second',
  bin: 'ms, logarithmic',
};

/** The position of a percentile on the axis: one unit per nine. */
export function nines(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

const COUNT_AXIS: uPlot.Axis = { incrs: COUNTS, space: 40, values: (_u, splits) => splits.map(count) };
const TIME_AXIS: uPlot.Axis = {
  incrs: SECONDS,
  space: 56,
  values: (_u, splits) => splits.map(clock),
};
export const X_AXES: Record<ChartData['kind'], uPlot.Axis> = {
  time: TIME_AXIS,
  vus: {
    splits: (_u, _axis, min, max) => powersOfTwo(min, max),
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map(count),
  },
  runs: TIME_AXIS, // which its chart tunes
  load: { ...COUNT_AXIS, space: 56 },
  percentile: {
    splits: PERCENTILES.map(nines),
    filter: (u, splits) => apart(splits, (u.scales.x?.max ?? 0) + 1e-9, u.width),
    values: (_u, splits) => splits.map((s, i) => (s == null ? null : `${PERCENTILES[i]}`)),
  },
  bin: {
    splits: (_u, _axis, min, max) =>
      Array.from({ length: max - min + 1 }, (_, i) => min + i).filter((bin) => [0, 3, 7].includes(bin % 10)),
    filter: (u, splits) => {
      const { min = 0, max = 0 } = u.scales.x ?? {};
      return clear(
        splits,
        (split) => ((split - (min ?? 0)) / ((max ?? 0) - (min ?? 0))) * (u.width - AXIS_ROOM),
      );
    },
    values: (_u, splits) => splits.map((split) => (split == null ? null : binText(split))),
  },
};

/** Ticks of percentiles up to the largest, without those whose texts would touch the one before. */
function apart(splits: number[], largest: number, width: number): (number | null)[] {
  const first = splits[0] ?? 0;
  let last = Number.NEGATIVE_INFINITY;
  return splits.map((split) => {
    const at = ((split - first) / (largest - first)) * (width - AXIS_ROOM);
    if (split > largest || at - last < TICK_ROOM) return null;
    last = at;
    return split;
  });
}

/** The beginning of a bin. */
const binText = (bin: number) => local(Number(binStart(bin).toPrecision(1)), { maximumSignificantDigits: 6 });

/** The least gap between two texts, px. */
const TEXT_GAP = 6;

/** Ticks of bins, from the last one down, without those whose texts would touch the one behind. */
function clear(splits: number[], at: (split: number) => number): (number | null)[] {
  let free = Number.POSITIVE_INFINITY;
  return splits
    .toReversed()
    .map((split) => {
      const half = widthOf([binText(split)]) / 2;
      if (at(split) + half > free) return null;
      free = at(split) - half - TEXT_GAP;
      return split;
    })
    .toReversed();
}

/** 1, 2, 4, 8, … ; one in so many where they would be too many. */
function powersOfTwo(min: number, max: number): number[] {
  const [first, last] = [Math.ceil(Math.log2(min)), Math.floor(Math.log2(max))];
  const step = Math.ceil((last - first + 1) / 12);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    .filter((exponent) => (last - exponent) % step === 0)
    .map((exponent) => 2 ** exponent);
}

/** The room for the axis of y, px: as much as its longest number takes. */
export function roomOf(_u: uPlot, values: string[] | null): number {
  return Math.max(52, widthOf(values ?? []) + 14);
}

/** 1, 2, 5, 10, … ; more where they would be too few, whole decades only where they would be too many. */
export function logSplits(_u: uPlot, _axis: number, min: number, max: number): number[] {
  const span = max / min;
  const steps = span > 3000 ? [1] : span > 300 ? [1, 3] : span > 10 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const splits: number[] = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
    for (const step of steps) splits.push(Number((step * 10 ** e).toPrecision(2)));
  }
  return splits.filter((split) => split >= min && split <= max);
}

export function axisValue(value: number | null): string | null {
  if (value === null) return null;
  // An axis has room for so many digits.
  if (Math.abs(value) >= 1e8) return Number(value.toPrecision(3)).toExponential();
  return local(value, { maximumSignificantDigits: 6 });
}
