/** The lines of a chart: uPlot's data and series, how each is drawn, stacked, and read at the cursor. */
import uPlot from 'uplot';
import { count } from '../format.ts';
import { nines } from './chart-axes.ts';
import type { ChartData, Colour, Line } from './chart-data.ts';
import { envelope, stackedArea } from './chart-paths.ts';

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const COLOURS = ['blue', 'orange', 'magenta', 'cyan', 'violet', 'olive', 'grey'];
const PATTERNS = [{}, { dash: 'dashed' }, { dash: 'dotted' }] as const;

/** The style of the i-th of many lines: 21 pairs of colour and pattern, and neighbours differ in both. */
export function styleOf(i: number): Pick<Line, 'colour' | 'dash'> {
  const round = Math.floor(i / COLOURS.length);
  return {
    colour: COLOURS[i % COLOURS.length] as Colour,
    ...(PATTERNS[(i + round) % PATTERNS.length] as (typeof PATTERNS)[number]),
  };
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

/** Stacks the lines that are shown on each other, as if there were no others. */
export function restack(u: uPlot, chart: ChartData): void {
  const shows = (line: number) => u.series[line + 1]?.show !== false;
  const { min, max } = u.scales.x ?? {};
  u.batch(() => {
    u.setData(alignedData(chart, shows), false);
    if (min != null && max != null) u.setScale('x', { min, max });
  });
}

export function series(chart: ChartData, line: Line, stroke: string): uPlot.Series {
  return {
    label: line.label,
    ...(line.behind && { scale: 'behind' }),
    stroke,
    width: chart.stacked ? 1 : 1.75,
    ...(line.dash ? { dash: DASHES[line.dash] } : {}),
    ...(chart.stacked
      ? { fill: stroke, paths: stackedArea }
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
  [/^kB per second/, '\u00a0kB/s'],
  [/^MB per second/, '\u00a0MB/s'],
  [/^MB/, '\u00a0MB'],
  [/^(\w+) per second/, '\u00a0$1/s'],
  [/^per second/, '/s'],
];

/** A value as the legend shows it at the cursor. */
function withUnit(chart: ChartData, line: Line, value: number | null): string {
  const whole = chart.axis ?? chart.unit;
  const [pattern, text] = UNITS.find(([pattern]) => pattern.test(whole)) ?? [];
  const [matched] = pattern?.exec(whole) ?? [];
  const unit = pattern && matched && text && !line.behind ? matched.replace(pattern, text) : '';
  return `${formatOf(chart, line)(value)}${value === null ? '' : unit}`;
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
