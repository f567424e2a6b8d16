/** Makes uPlot's options from what a chart shows. */
import uPlot from 'uplot';
import { clock, count, ms, percentileText, timeOfDay } from '../format.ts';
import { axisValue, COUNTS, logSplits, roomOf, X_AXES, X_NAMES, X_TITLES } from './chart-axes.ts';
import type { ChartData, Colour } from './chart-data.ts';
import { hooks, nameRoom } from './chart-hooks.ts';
import { fromZero, logRange, stackRange, withoutRest, xRange } from './chart-ranges.ts';
import { restack, series } from './chart-series.ts';
import { binStart, HEAT_ROOM, heatRange } from './heat.ts';
import { zoomed } from './window.ts';

/** The room for names above the plot, px. */
const LABEL_BAND = 18;
/** Charts of this group share their cursor and what they show. */
export const TIME = 'time';

/** uPlot's options; colours are read from the styles of `host` as they are now. */
export function chartOptions(chart: ChartData, host: Element, width: number, height: number): uPlot.Options {
  const styles = getComputedStyle(host);
  const colour = (name: Colour) => styles.getPropertyValue(`--${name}`).trim();
  const font = `${matchMedia('print').matches ? 8 : 11}px ${styles.fontFamily}`;
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
      // Half of the last tick's name is outside the plot.
      chart.stacked
        ? nameRoom(chart.lines)
        : chart.heat
          ? HEAT_ROOM
          : percentiles || hours || chart.kind === 'bin'
            ? 24
            : 12,
      0,
      0,
    ],
    scales: {
      x: {
        time: false,
        range: xRange(chart),
        ...(chart.kind === 'vus' && { distr: 3 as const, log: 2 as const }),
      },
      y: {
        distr: log ? 3 : 1,
        range: chart.heat
          ? heatRange(chart.heat)
          : chart.stacked
            ? stackRange(chart)
            : withoutRest(chart, log ? logRange : fromZero),
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

/** Tells the rest of the page which seconds are shown: one of the charts for all. */
function tellZoom(u: uPlot, key: string, { begin = 0, end = 0 }: ChartData): void {
  const { min, max } = u.scales.x ?? {};
  if (key !== 'x' || min == null || max == null || uPlot.sync(TIME).plots[0] !== u) return;
  zoomed(min <= begin && max >= end ? null : { start: min, end: max });
}

export function label(chart: Pick<ChartData, 'kind' | 'epoch' | 'names'>, x: number): string {
  if (chart.kind === 'runs') return chart.names?.[x] ?? '';
  if (chart.kind === 'time')
    return chart.epoch === undefined ? clock(x) : `${clock(x)} · ${timeOfDay(chart.epoch + 1000 * x)}`;
  if (chart.kind === 'vus' || chart.kind === 'load') return count(x);
  if (chart.kind === 'bin') return `${ms(binStart(x))} – ${ms(binStart(x + 1))} ms`;
  return percentileText(100 * (1 - 10 ** -x), 5);
}
