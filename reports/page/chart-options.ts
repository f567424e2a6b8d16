/** From what a chart shows to uPlot's options. */
import uPlot from 'uplot';
import type { ChartData, Colour, Line } from './chart-data.ts';
import { hooks, nameRoom, widthOf } from './chart-hooks.ts';
import { envelope } from './chart-paths.ts';
import { clock, count, ms, timeOfDay } from './format.ts';
import { binStart, HEAT_ROOM, heatRange } from './heat.ts';
import { zoomed } from './window.ts';

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const COLOURS = ['blue', 'orange', 'magenta', 'cyan', 'violet', 'olive', 'grey'];
const PATTERNS = [{}, { dash: 'dashed' }, { dash: 'dotted' }] as const;
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
const COUNTS = Array.from({ length: 13 }, (_, e) => [1, 2, 5].map((step) => step * 10 ** e)).flat();
const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999];
/** px above the plot, for names. */
const LABEL_BAND = 18;
/** Charts of this group share their cursor and what they show. */
export const TIME = 'time';
export const X_NAMES = {
  time: 'time',
  percentile: 'percentile',
  vus: 'VUs',
  runs: 'run',
  load: 'messages/s',
  bin: 'latency',
};
const X_TITLES = { ...X_NAMES, time: 'time, m:ss', load: 'messages per second', bin: 'ms, logarithmic' };

/** How the i-th of many lines is drawn: 21 pairs of colour and pattern, and neighbours differ in both. */
export function styleOf(i: number): Pick<Line, 'colour' | 'dash'> {
  const round = Math.floor(i / COLOURS.length);
  return {
    colour: COLOURS[i % COLOURS.length] as Colour,
    ...(PATTERNS[(i + round) % PATTERNS.length] as (typeof PATTERNS)[number]),
  };
}

/** Where a percentile stands on the axis: one unit per nine. */
export function nines(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

/**
 * uPlot's data: x, then one row per line, summed up if stacked.
 * @param shows whether a line is shown: of those that are stacked, one that is not adds nothing
 */
export function alignedData(
  { kind, x, lines, stacked }: ChartData,
  shows = (_line: number) => true,
): uPlot.AlignedData {
  const rows = lines.map((line) => line.values);
  if (stacked) {
    for (let i = 0; i < rows.length; i++) {
      rows[i] = (rows[i] ?? []).map((value, k) =>
        value === null ? null : (shows(i) ? Math.max(0, value) : 0) + (rows[i - 1]?.[k] ?? 0),
      );
    }
  }
  return [kind === 'percentile' ? x.map(nines) : x, ...rows];
}

/** uPlot's options; colours are read from the styles of `host` as they are now. */
export function chartOptions(chart: ChartData, host: Element, width: number, height: number): uPlot.Options {
  const styles = getComputedStyle(host);
  const colour = (name: Colour) => styles.getPropertyValue(`--${name}`).trim();
  const font = `11px ${styles.fontFamily}`;
  const axis = {
    stroke: colour('muted'),
    font,
    grid: { stroke: colour('grid'), width: 1 },
    ticks: { show: false },
    labelSize: 16,
    labelGap: 2,
    labelFont: font,
  };
  const percentiles = chart.kind === 'percentile';
  const log = chart.log || chart.heat !== undefined;
  const hours = chart.kind === 'time' && (chart.x.at(-1) ?? 0) > 3000;
  const drawn = hooks(chart, colour, font);
  const behind = chart.lines[0]?.behind === true ? chart.lines[0] : null;
  const options: uPlot.Options = {
    width,
    height,
    padding: [
      chart.phases || chart.marks ? LABEL_BAND : 8,
      // The name of the last tick stands half outside.
      chart.stacked ? nameRoom(chart.lines) : chart.heat ? HEAT_ROOM : percentiles || hours ? 24 : 12,
      0,
      0,
    ],
    scales: {
      x: { time: false, range: xRange(chart) },
      y: {
        distr: log ? 3 : 1,
        range: chart.heat ? heatRange(chart.heat) : withoutRest(chart, log ? logRange : fromZero),
      },
      ...(behind && { behind: { range: fromZero } }),
    },
    axes: [
      { ...axis, label: X_TITLES[chart.kind], size: 22, ...X_AXES[chart.kind] },
      {
        ...axis,
        label: chart.axis ?? chart.unit.replace(/[,;].*/, ''),
        size: roomOf,
        ...(log ? { splits: logSplits, filter: (_u, splits) => splits } : { space: 36 }),
        ...(chart.whole ? { incrs: COUNTS } : {}),
        values: (_u, splits) => splits.map((value) => axisValue(value)),
      },
      ...(behind
        ? [
            {
              ...axis,
              scale: 'behind',
              side: 1 as const,
              label: behind.label,
              size: roomOf,
              space: 36,
              incrs: COUNTS,
              grid: { show: false },
              values: (_u: uPlot, splits: number[]) => splits.map((value) => axisValue(value)),
            },
          ]
        : []),
    ],
    series: [
      { label: X_NAMES[chart.kind], value: (_u, x) => (x == null ? '' : label(chart, x)) },
      ...chart.lines.map((line) => series(chart, line, colour(line.colour))),
    ],
    ...(chart.stacked ? { bands: bandsOf(chart.lines.map((_, i) => i)) } : {}),
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: chart.kind === 'time', y: false },
      ...(chart.kind === 'time' ? { sync: { key: TIME, scales: ['x', null] } } : {}),
    },
    legend: {
      markers: {
        width: 2,
        stroke: (_u, i) => colour(chart.lines[i - 1]?.colour ?? 'ink'),
        dash: (_u, i) => chart.lines[i - 1]?.dash ?? 'solid',
        fill: (_u, i) =>
          chart.stacked || chart.lines[i - 1]?.fill ? colour(chart.lines[i - 1]?.colour ?? '') : '',
      },
    },
    hooks: {
      ...drawn,
      ...(chart.stacked && { setSeries: [(u: uPlot) => restack(u, chart)] }),
      ...(chart.kind === 'time' && { setScale: [(u: uPlot, key: string) => tellZoom(u, key, chart)] }),
    },
  };
  return chart.tune?.(options, colour) ?? options;
}

const COUNT_AXIS: uPlot.Axis = { incrs: COUNTS, space: 40, values: (_u, splits) => splits.map(count) };
const TIME_AXIS: uPlot.Axis = {
  incrs: SECONDS,
  space: 56,
  values: (_u, splits) => splits.map(clock),
};
const X_AXES: Record<ChartData['kind'], uPlot.Axis> = {
  time: TIME_AXIS,
  vus: COUNT_AXIS,
  runs: TIME_AXIS, // which its chart tunes
  load: { ...COUNT_AXIS, space: 56 },
  percentile: {
    splits: PERCENTILES.map(nines),
    filter: (u, splits) => splits.map((s) => (s <= (u.scales.x?.max ?? 0) + 1e-9 ? s : null)),
    values: (_u, splits) => splits.map((s, i) => (s == null ? null : `${PERCENTILES[i]}`)),
  },
  bin: {
    splits: (_u, _axis, min, max) =>
      Array.from({ length: max - min + 1 }, (_, i) => min + i).filter((bin) => [0, 3, 7].includes(bin % 10)),
    values: (_u, splits) => splits.map((bin) => `${Number(binStart(bin).toPrecision(1))}`),
  },
};

/** px beside the axis of y: as much as its longest number takes. */
function roomOf(_u: uPlot, values: string[] | null): number {
  return Math.max(52, widthOf(values ?? []) + 14);
}

/** Tells the rest of the page which seconds are shown: one of the charts for all. */
function tellZoom(u: uPlot, key: string, { end = 0 }: ChartData): void {
  const { min, max } = u.scales.x ?? {};
  if (key !== 'x' || min == null || max == null || uPlot.sync(TIME).plots[0] !== u) return;
  zoomed(min <= 0 && max >= end ? null : { start: min, end: max });
}

/** Each line is filled down to the one below it. */
function bandsOf(lines: number[]): uPlot.Band[] {
  return lines.slice(1).map((line, i) => ({ series: [line + 1, (lines[i] as number) + 1] }));
}

/** Stacks the lines that are shown on each other, as if there were no others. */
function restack(u: uPlot, chart: ChartData): void {
  const shows = (line: number) => u.series[line + 1]?.show !== false;
  const { min, max } = u.scales.x ?? {};
  u.batch(() => {
    u.delBand(null);
    for (const band of bandsOf(chart.lines.map((_, i) => i).filter(shows))) u.addBand(band);
    u.setData(alignedData(chart, shows), false);
    if (min != null && max != null) u.setScale('x', { min, max });
  });
}

function series(chart: ChartData, line: Line, stroke: string): uPlot.Series {
  return {
    label: line.label,
    ...(line.behind && { scale: 'behind' }),
    stroke,
    width: chart.stacked ? 1 : 1.75,
    ...(line.dash ? { dash: DASHES[line.dash] } : {}),
    ...(chart.stacked
      ? { fill: stroke }
      : chart.kind === 'time'
        ? {
            ...(!chart.heat && { fill: `${stroke}${line.fill ? '2e' : '40'}` }),
            paths: envelope(line.fill === true),
          }
        : line.as === 'points'
          ? { paths: () => null }
          : line.as === 'bars'
            ? { paths: uPlot.paths.bars?.({ size: [1], align: 1 }) as uPlot.Series.PathBuilder, fill: stroke }
            : {}),
    spanGaps: chart.kind !== 'time',
    points: {
      show: line.as ? line.as === 'points' : chart.kind === 'vus' ? !line.smooth : chart.x.length < 3,
      filter: (_u, _i, show) => (show ? null : alone(line.values)),
      size: 6,
      fill: stroke,
    },
    value: (_u, _value, _series, i) => (i == null ? '' : withUnit(chart, line, line.values[i] ?? null)),
  };
}

const UNITS: [RegExp, string][] = [
  [/^ms/, '\u00a0ms'],
  [/^%/, '\u00a0%'],
  [/^MB/, '\u00a0MB'],
  [/^(\w+ )?per second/, '/s'],
];

/** A value as the legend shows it at the cursor. */
function withUnit(chart: ChartData, line: Line, value: number | null): string {
  const unit = line.behind ? '' : UNITS.find(([pattern]) => pattern.test(chart.axis ?? chart.unit))?.[1];
  return `${formatOf(chart, line)(value)}${value === null ? '' : (unit ?? '')}`;
}

/** Writes a value of a line, without its unit. */
export function formatOf({ format }: Pick<ChartData, 'format'>, { behind }: Line): ChartData['format'] {
  return behind ? count : format;
}

/** Values between two gaps, which no line is drawn to. */
function alone(values: Line['values']): number[] {
  return values.flatMap((value, i) =>
    value !== null && values[i - 1] == null && values[i + 1] == null ? [i] : [],
  );
}

export function label(chart: Pick<ChartData, 'kind' | 'epoch' | 'names'>, x: number): string {
  if (chart.kind === 'runs') return chart.names?.[x] ?? '';
  if (chart.kind === 'time')
    return chart.epoch === undefined ? clock(x) : `${clock(x)} · ${timeOfDay(chart.epoch + 1000 * x)}`;
  if (chart.kind === 'vus' || chart.kind === 'load') return count(x);
  if (chart.kind === 'bin') return `${ms(binStart(x))} – ${ms(binStart(x + 1))} ms`;
  const percentile = 100 * (1 - 10 ** -x);
  return `${Number(percentile.toFixed(5))}`;
}

function xRange({ kind, x, end }: ChartData): uPlot.Range.Function | [number, number] {
  const last = x.at(-1) ?? 1;
  // Of few samples the median is the last that is known.
  if (kind === 'percentile') return [nines(50), nines(Math.max(last, 75))];
  if (kind === 'bin') return [x[0] ?? 0, last + 1];
  return kind === 'vus' || kind === 'load' ? [0, last * 1.05] : wholeSeconds(x, end);
}

/** From 0 to the end of the last second; as chosen where the reader has zoomed in. */
function wholeSeconds(x: number[], end: number | undefined): uPlot.Range.Function {
  const [first, last] = [x[0] ?? 0, x.at(-1) ?? 1];
  return (_u, min, max) => (min <= first && max >= last ? [0, end ?? Math.ceil(last)] : [min, max]);
}

/** A range of y that is not about what comes after the load, unless nothing else is shown. */
function withoutRest({ rest }: ChartData, range: uPlot.Range.Function): uPlot.Range.Function {
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
    return range(u, Math.min(...values), Math.max(...values), key);
  };
}

const fromZero: uPlot.Range.Function = (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1];

/** From just below the smallest to just above the largest. */
function logRange(_u: uPlot, min: number | null, max: number | null): [number, number] {
  return min === null || max === null || min <= 0 ? [0.1, 1] : [min / 1.3, max * 1.3];
}

/** 1, 2, 5, 10, … ; more where they would be too few, whole decades only where they would be too many. */
function logSplits(_u: uPlot, _axis: number, min: number, max: number): number[] {
  const span = max / min;
  const steps = span > 3000 ? [1] : span > 300 ? [1, 3] : span > 10 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const splits: number[] = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
    for (const step of steps) splits.push(Number((step * 10 ** e).toPrecision(2)));
  }
  return splits.filter((split) => split >= min && split <= max);
}

function axisValue(value: number | null): string | null {
  if (value === null) return null;
  // An axis has room for so many digits.
  if (Math.abs(value) >= 1e8) return Number(value.toPrecision(3)).toExponential();
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
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

export const msValue = (value: number | null) => ms(value);
