/** From what a chart shows to uPlot's options. */
import type uPlot from 'uplot';
import type { PhaseSpan, Span } from './facts.ts';
import { clock, ms } from './format.ts';

/** A custom property of report.css: `--blue` is the colour `blue`. */
export type Colour = string;

export interface Line {
  label: string;
  /** One per x; null leaves a gap. */
  values: (number | null)[];
  colour: Colour;
  dash?: 'dashed' | 'dotted';
  fill?: boolean;
}

export interface ChartData {
  /** time: s since the start of the run. percentile: 0 to 100, drawn so that 90, 99, 99.9 are equally far apart. */
  kind: 'time' | 'percentile';
  x: number[];
  lines: Line[];
  /** Writes a value of y, without its unit. */
  format: (value: number | null) => string;
  /** Each line on top of the one before. */
  stacked?: boolean;
  log?: boolean;
  /** Values are counts: no ticks between whole numbers. */
  whole?: boolean;
  phases?: PhaseSpan[];
  /** Shaded: spans in which a subscriber had no connection. */
  gaps?: Span[];
  /** px; 190 if not given. */
  height?: number;
}

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
const COUNTS = Array.from({ length: 13 }, (_, e) => [1, 2, 5].map((step) => step * 10 ** e)).flat();
const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999];
const LABEL_BAND = 18;

/** Where a percentile stands on the axis: one unit per nine. */
export function nines(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

/** uPlot's data: x, then one row per line, summed up if stacked. */
export function alignedData({ kind, x, lines, stacked }: ChartData): uPlot.AlignedData {
  const rows = lines.map((line) => line.values);
  if (stacked) {
    for (let i = 1; i < rows.length; i++) {
      rows[i] = (rows[i] ?? []).map((value, k) =>
        value === null ? null : Math.max(0, value) + (rows[i - 1]?.[k] ?? 0),
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
  };
  const percentiles = chart.kind === 'percentile';
  const last = chart.x.at(-1) ?? 1;
  return {
    width,
    height,
    padding: [chart.phases ? LABEL_BAND : 8, percentiles ? 24 : 12, 0, 0],
    scales: {
      x: { time: false, range: percentiles ? [nines(50), nines(last)] : wholeSeconds(chart.x) },
      y: {
        distr: chart.log ? 3 : 1,
        range: chart.log ? logRange : (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1],
      },
    },
    axes: [
      percentiles
        ? {
            ...axis,
            size: 28,
            splits: PERCENTILES.map(nines),
            filter: (u, splits) => splits.map((s) => (s <= (u.scales.x?.max ?? 0) + 1e-9 ? s : null)),
            values: (_u, splits) => splits.map((s, i) => (s == null ? null : `${PERCENTILES[i]}`)),
          }
        : { ...axis, size: 28, incrs: SECONDS, space: 56, values: (_u, splits) => splits.map(clock) },
      {
        ...axis,
        size: 52,
        ...(chart.log ? { splits: logSplits, filter: (_u, splits) => splits } : { space: 36 }),
        ...(chart.whole ? { incrs: COUNTS } : {}),
        values: (_u, splits) => splits.map((value) => axisValue(value)),
      },
    ],
    series: [
      { label: percentiles ? 'percentile' : 'time', value: (_u, x) => (x == null ? '' : label(chart, x)) },
      ...chart.lines.map((line) => series(chart, line, colour(line.colour))),
    ],
    ...(chart.stacked
      ? { bands: chart.lines.slice(1).map((_, i): uPlot.Band => ({ series: [i + 2, i + 1] })) }
      : {}),
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: !percentiles, y: false },
      ...(percentiles ? {} : { sync: { key: 'time', scales: ['x', null] } }),
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
    hooks: chart.phases ? spanHooks(chart.phases, chart.gaps ?? [], colour, font) : {},
  };
}

function series(chart: ChartData, line: Line, stroke: string): uPlot.Series {
  return {
    label: line.label,
    stroke,
    width: chart.stacked ? 1 : 1.75,
    ...(line.dash ? { dash: DASHES[line.dash] } : {}),
    ...(chart.stacked ? { fill: stroke } : line.fill ? { fill: `${stroke}2e` } : {}),
    spanGaps: chart.kind === 'percentile',
    points: {
      show: chart.x.length < 3,
      filter: (_u, _i, show) => (show ? null : alone(line.values)),
      size: 6,
      fill: stroke,
    },
    value: (_u, _value, _series, i) => (i == null ? '' : chart.format(line.values[i] ?? null)),
  };
}

/** Values between two gaps, which no line is drawn to. */
function alone(values: Line['values']): number[] {
  return values.flatMap((value, i) =>
    value !== null && values[i - 1] == null && values[i + 1] == null ? [i] : [],
  );
}

function label(chart: ChartData, x: number): string {
  if (chart.kind === 'time') return clock(x);
  const percentile = 100 * (1 - 10 ** -x);
  return `${Number(percentile.toFixed(5))}`;
}

/** From 0 to the end of the last second; as chosen where the reader has zoomed in. */
function wholeSeconds(x: number[]): uPlot.Range.Function {
  const [first, last] = [x[0] ?? 0, x.at(-1) ?? 1];
  return (_u, min, max) => (min <= first && max >= last ? [0, Math.ceil(last)] : [min, max]);
}

/** From just below the smallest to just above the largest. */
function logRange(_u: uPlot, min: number | null, max: number | null): [number, number] {
  return min === null || max === null || min <= 0 ? [0.1, 1] : [min / 1.3, max * 1.3];
}

/** 1, 2, 5, 10, … ; whole decades only if there would be too many. */
function logSplits(_u: uPlot, _axis: number, min: number, max: number): number[] {
  const steps = max / min > 3000 ? [1] : max / min > 300 ? [1, 3] : [1, 2, 5];
  const splits: number[] = [];
  for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); e++) {
    for (const step of steps) splits.push(Number((step * 10 ** e).toPrecision(1)));
  }
  return splits.filter((split) => split >= min && split <= max);
}

function axisValue(value: number | null): string | null {
  if (value === null) return null;
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
}

/** Shades what is not measured and the gaps, draws the borders of the phases, and names them above the plot. */
function spanHooks(
  phases: PhaseSpan[],
  gaps: Span[],
  colour: (name: Colour) => string,
  font: string,
): uPlot.Hooks.Arrays {
  function visible<S extends Span>(u: uPlot, all: S[]) {
    const { left, top, width, height } = u.bbox;
    const at = (s: number) => Math.round(Math.min(left + width, Math.max(left, u.valToPos(s, 'x', true))));
    const { min = 0, max = 0 } = u.scales.x ?? {};
    return all
      .filter(({ start, end }) => start < (max ?? 0) && end > (min ?? 0))
      .map((span) => ({ ...span, x0: at(span.start), x1: at(Math.min(span.end, max ?? 0)), top, height }));
  }
  return {
    drawClear: [
      (u) => {
        for (const { x0, x1, top, height, measured } of visible(u, phases)) {
          u.ctx.fillStyle = colour(measured ? 'phase-line' : 'shade');
          u.ctx.fillRect(x0, top, measured ? 1 : x1 - x0, height);
        }
        u.ctx.fillStyle = colour('gap');
        for (const { x0, x1, top, height } of visible(u, gaps)) {
          u.ctx.fillRect(x0, top, Math.max(2 * devicePixelRatio, x1 - x0), height);
        }
      },
    ],
    draw: [
      (u) => {
        const ratio = devicePixelRatio;
        u.ctx.save();
        u.ctx.font = font.replace('11px', `${11 * ratio}px`);
        u.ctx.fillStyle = colour('muted');
        u.ctx.textAlign = 'left';
        u.ctx.textBaseline = 'bottom';
        for (const { x0, x1, top, name } of visible(u, phases)) {
          const text = fit(u.ctx, name, x1 - x0 - 8 * ratio);
          u.ctx.fillText(text, x0 + 4 * ratio, top - 4 * ratio);
        }
        u.ctx.restore();
      },
    ],
  };
}

/** As much of a name as fits, or nothing. */
function fit(ctx: CanvasRenderingContext2D, name: string, width: number): string {
  let text = name.slice(0, 60);
  if (text === name && ctx.measureText(text).width <= width) return text;
  while (text.length > 2 && ctx.measureText(`${text}…`).width > width) text = text.slice(0, -1);
  return text.length > 2 ? `${text}…` : '';
}

/** Log where the values span more than a factor of 10. */
export function wantsLog(lines: Line[]): boolean {
  const values = lines.flatMap((line) => line.values.filter((v): v is number => v !== null));
  const max = values.reduce((a, b) => Math.max(a, b), 0);
  const min = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return min > 0 && max / min > 10;
}

export const msValue = (value: number | null) => ms(value);
