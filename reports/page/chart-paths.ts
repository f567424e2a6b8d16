/** Draws series with more values than pixels: per group of pixels the mean, over a band from minimum to maximum. */
import uPlot from 'uplot';

/** The width of a place whose values are drawn together, px. */
const PLACE = 3;

const linear = uPlot.paths.linear?.() as uPlot.Series.PathBuilder;

/** Draws a line where each value has room, else an envelope. @param area the line is filled down to 0 */
export function envelope(area: boolean): uPlot.Series.PathBuilder {
  return (u, series, from, to) => {
    const step = stepOf(u, from, to);
    if (step === 1) {
      const paths = linear(u, series, from, to);
      return paths && !area ? { ...paths, fill: null } : paths;
    }
    const [stroke, fill] = [new Path2D(), new Path2D()];
    for (const run of runsOf(places(u, series, from, to, step))) {
      follow(stroke, run, area ? 'high' : 'mean');
      follow(fill, run, 'high');
      for (const { x, low } of run.toReversed()) fill.lineTo(x, low);
    }
    return area ? { stroke, fill: downToZero(u, series, stroke) } : { stroke, fill };
  };
}

/** A line of a stack: the means, and the area between them and those of the line below. */
export const stackedArea: uPlot.Series.PathBuilder = (u, series, from, to) => {
  const step = stepOf(u, from, to);
  const zero = u.valToPos(0, u.series[series]?.scale ?? 'y', true);
  const lower = lineBelow(u, series);
  const below = lower === 0 ? [] : places(u, lower, from, to, step);
  const [stroke, fill] = [new Path2D(), new Path2D()];
  for (const run of runsOf(places(u, series, from, to, step))) {
    follow(stroke, run, 'mean');
    follow(fill, run, 'mean');
    for (const { x, place } of run.toReversed()) fill.lineTo(x, below[place]?.mean ?? zero);
  }
  return { stroke, fill };
};

/** The next line of a stack that is shown below this one; 0: none. */
function lineBelow(u: uPlot, series: number): number {
  let lower = series - 1;
  while (lower > 0 && u.series[lower]?.show === false) lower--;
  return lower;
}

/** The highest mean of a place of any line that is shown. @param rest from this x on, values count only if nothing else is shown */
export function highestMean(u: uPlot, rest: number): number {
  const [from = 0, end = 0] = u.series[0]?.idxs ?? [];
  let to = end;
  while (to >= from && (u.data[0][to] ?? 0) >= rest) to--;
  if (to < from) to = end;
  const step = stepOf(u, from, end);
  let most = 0;
  for (let series = 1; series < u.series.length; series++) {
    if (u.series[series]?.show === false) continue;
    for (let i = from; i <= to; i += step)
      most = Math.max(most, meanOf(known(u, series, i, Math.min(i + step, to + 1))) || 0);
  }
  return most;
}

/** The mean of a line's last place of those up to `last`. */
export function lastMean(u: uPlot, series: number, last: number): number {
  const [from = 0, to = 0] = u.series[0]?.idxs ?? [];
  return meanOf(known(u, series, Math.max(0, last + 1 - stepOf(u, from, to)), last + 1)) || 0;
}

/** Number of values per group of pixels. */
function stepOf(u: uPlot, from: number, to: number): number {
  return Math.max(1, Math.ceil((to - from) / (u.width / PLACE)));
}

/** Values that share a place, px on the canvas. */
interface Place {
  place: number;
  x: number;
  low: number;
  mean: number;
  high: number;
}

/** The places of a line; undefined: it has no value there. */
function places(u: uPlot, series: number, from: number, to: number, step: number): (Place | undefined)[] {
  const scale = u.series[series]?.scale ?? 'y';
  const y = (value: number) => u.valToPos(value, scale, true);
  const all: (Place | undefined)[] = [];
  for (let i = from; i <= to; i += step) {
    const values = known(u, series, i, Math.min(i + step, to + 1));
    const middle = u.data[0][Math.min(to, i + Math.floor(step / 2))] as number;
    all.push(
      values.length === 0
        ? undefined
        : {
            place: all.length,
            x: u.valToPos(middle, 'x', true),
            low: y(Math.min(...values)),
            mean: y(meanOf(values)),
            high: y(Math.max(...values)),
          },
    );
  }
  return all;
}

/** Neighbouring places with values. */
function runsOf(all: (Place | undefined)[]): Place[][] {
  const runs: Place[][] = [];
  for (const [i, place] of all.entries()) {
    if (place === undefined) continue;
    if (i > 0 && all[i - 1] !== undefined) runs.at(-1)?.push(place);
    else runs.push([place]);
  }
  return runs;
}

function follow(path: Path2D, run: Place[], of: 'mean' | 'high'): void {
  for (const [i, place] of run.entries()) path[i === 0 ? 'moveTo' : 'lineTo'](place.x, place[of]);
}

/** NaN without values. */
function meanOf(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function known(u: uPlot, series: number, from: number, end: number): number[] {
  const values = u.data[series] as (number | null | undefined)[];
  return values.slice(from, end).filter((value): value is number => value != null);
}

/** The area below a line that has no gaps. */
function downToZero(u: uPlot, series: number, stroke: Path2D): Path2D {
  const { left, width } = u.bbox;
  const zero = u.valToPos(0, u.series[series]?.scale ?? 'y', true);
  const area = new Path2D(stroke);
  area.lineTo(left + width, zero);
  area.lineTo(left, zero);
  return area;
}
