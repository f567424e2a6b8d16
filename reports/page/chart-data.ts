/** The data of a chart, independent of uPlot. */
import type uPlot from 'uplot';
import type { PhaseSpan, TimeRange } from './facts.ts';
import type { HeatColumn } from './heat.ts';

/** A custom property of report.css: `--blue` is the colour `blue`. */
export type Colour = string;

export interface Line {
  label: string;
  /** One per x; null leaves a gap. */
  values: (number | null)[];
  colour: Colour;
  dash?: 'dashed' | 'dotted';
  fill?: boolean;
  /** A curve, not measured points. */
  smooth?: boolean;
  /** A count that is drawn against an axis of its own, on the right. The first line only. */
  behind?: boolean;
  /** Points or bars are drawn instead of a line. */
  as?: 'points' | 'bars';
}

type Points = (readonly [x: number, ...value: (number | null)[]])[];

/** Curves over one axis: where any of them has a point, and the value of each there. The first of several points counts. */
export function overOneAxis(curves: Points[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(curves.flatMap((points) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const known = curves.map((points) => new Map(points.toReversed().map(([at, value]) => [at, value])));
  return { x, values: known.map((points) => x.map((at) => points.get(at) ?? null)) };
}

export interface ChartData {
  /**
   * time: s since the start of the run. percentile: 0 to 100, drawn so that 90, 99, 99.9 are equally far apart.
   * vus: concurrency. runs: one after the other, by their numbers. load: messages a second. bin: numbers of bins of arrival_bins, a decade apart by ten.
   */
  kind: 'time' | 'percentile' | 'vus' | 'runs' | 'load' | 'bin';
  x: number[];
  lines: Line[];
  /** The unit of y; a remark may follow after a comma or semicolon. */
  unit: string;
  /** The name of the axis of y; the unit if not given. */
  axis?: string;
  /** Writes a value of y, without its unit. */
  format: (value: number | null) => string;
  /** Each line on top of the one before. */
  stacked?: boolean;
  log?: boolean;
  /** Values are counts: no ticks between whole numbers. */
  whole?: boolean;
  phases?: PhaseSpan[];
  /** Begin and end of the time axis that all charts share, s; 0 and the last value if not given. */
  begin?: number;
  end?: number;
  /** Values from this x on do not scale y. */
  rest?: number;
  /** The moment at which x is 0, ms since 1970, for the time of day at the cursor. */
  epoch?: number;
  /** Shaded: spans in which a subscriber had no connection. */
  gaps?: TimeRange[];
  /** Cells behind the lines; y is logarithmic. */
  heat?: HeatColumn[];
  /** Lines across, with their names. */
  marks?: { x: number; name: string }[];
  /** The height, px; 200 if not given. */
  height?: number;
  /** The chart is as wide as the sheet on paper, not half of it. */
  wide?: boolean;
  /** The names of the runs, by x; only for `runs`. */
  names?: string[];
  /** Has the last word on uPlot's options. */
  tune?: (options: uPlot.Options, colour: (name: Colour) => string) => uPlot.Options;
}
