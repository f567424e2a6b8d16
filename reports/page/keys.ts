/** A chart by keyboard, and all charts over time by the page: arrows move the cursor, + and − zoom around it, 0 shows everything again. */
import uPlot from 'uplot';
import { TIME } from './chart-options.ts';

const ZOOM = 2;

/** @returns whether the key was for the chart */
export function onKey(key: string, plot: uPlot, zooms: boolean): boolean {
  const x = plot.data[0];
  const [first, last] = [x[0], x.at(-1)];
  if (first === undefined || last === undefined) return false;
  const at = plot.cursor.idx ?? null;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step !== undefined) {
    move(plot, at === null ? (step > 0 ? 0 : x.length - 1) : Math.min(x.length - 1, Math.max(0, at + step)));
    return true;
  }
  if (!zooms) return false;
  const { min, max } = plot.scales.x ?? {};
  const [low, high] = [min ?? first, max ?? last];
  const middle = at === null ? (low + high) / 2 : (x[at] as number);
  const zoom = (factor: number) =>
    show(
      plot,
      Math.max(first, middle - (middle - low) * factor),
      Math.min(last, middle + (high - middle) * factor),
    );
  if (key === '+' || key === '=') zoom(1 / ZOOM);
  else if (key === '-') zoom(ZOOM);
  else if (key === '0') show(plot, first, last);
  else return false;
  return true;
}

/** Puts the cursor on a point, and the point into view. */
function move(plot: uPlot, index: number): void {
  const value = plot.data[0][index] as number;
  const { min, max } = plot.scales.x ?? {};
  const [low, high] = [min ?? value, max ?? value];
  if (value < low || value > high) {
    const by = value < low ? value - low : value - high;
    show(plot, low + by, high + by);
  }
  const { left, top, height } = plot.over.getBoundingClientRect();
  // Only a mouse event moves the cursors of the other charts too.
  plot.over.dispatchEvent(
    new MouseEvent('mousemove', { clientX: left + plot.valToPos(value, 'x'), clientY: top + height / 2 }),
  );
}

/** Zooms all charts over time, s since the start of the run. */
export function showTime(from: number, to: number): void {
  const [first] = uPlot.sync(TIME).plots;
  if (first) show(first, from, to);
}

/** Zooms a chart, and with it all that share its time. */
function show(plot: uPlot, min: number, max: number): void {
  if (max <= min) return;
  const key = plot.cursor.sync?.key;
  const all = key === undefined ? [plot] : uPlot.sync(key).plots;
  for (const one of all) one.setScale('x', { min, max });
}
