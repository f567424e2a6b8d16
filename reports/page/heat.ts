/** Deliveries by second and latency, drawn as cells behind a chart's lines. */
import type uPlot from 'uplot';
import { count } from '../format.ts';

/** Bins a decade, as in run.json: bin k is from 10^(k/10) µs on. */
const PER_DECADE = 10;
/** The number of steps of the scale of strength. */
const STEPS = 8;
/** The least width of a column, px; narrower ones are merged. */
const LEAST_WIDTH = 2;

export interface HeatColumn {
  start: number;
  end: number;
  /** The number of the first bin, then counts; null: nothing arrived. */
  bins: number[] | null;
}

/** The latency, ms, at which a bin begins. */
export function binStart(bin: number): number {
  return 10 ** (bin / PER_DECADE) / 1e3;
}

/** The position of a latency among the bins. */
export function binOf(ms: number): number {
  return PER_DECADE * Math.log10(ms * 1e3);
}

/** The bins of a column with their counts. */
export function cells({ bins }: Pick<HeatColumn, 'bins'>): [bin: number, count: number][] {
  const [first, ...counts] = bins ?? [];
  return first === undefined ? [] : counts.map((count, i) => [first + i, count]);
}

/** The lowest bin of all, and the one after the highest; null: nothing arrived. */
export function usedBins(columns: HeatColumn[]): [low: number, end: number] | null {
  let [low, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [bin] of columns.flatMap(cells)) {
    low = Math.min(low, bin);
    end = Math.max(end, bin + 1);
  }
  return low < end ? [low, end] : null;
}

/** The range of y, ms, from the lowest to the highest bin. */
export function heatRange(columns: HeatColumn[]): [low: number, high: number] {
  const [low, end] = usedBins(columns) ?? [];
  return low === undefined || end === undefined ? [0.1, 1] : [binStart(low), binStart(end)];
}

/** Puts neighbours together, so that there are at most `most` columns. */
export function merged(columns: HeatColumn[], most: number): HeatColumn[] {
  const size = Math.max(1, Math.ceil(columns.length / Math.max(1, most)));
  if (size === 1) return columns;
  const all: HeatColumn[] = [];
  for (let i = 0; i < columns.length; i += size) {
    const group = columns.slice(i, i + size);
    const sums = new Map<number, number>();
    for (const [bin, count] of group.flatMap(cells)) sums.set(bin, (sums.get(bin) ?? 0) + count);
    const numbers = [...sums.keys()];
    const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
    all.push({
      start: (group[0] as HeatColumn).start,
      end: (group.at(-1) as HeatColumn).end,
      bins:
        numbers.length === 0
          ? null
          : [first, ...Array.from({ length: last - first + 1 }, (_, k) => sums.get(first + k) ?? 0)],
    });
  }
  return all;
}

/** The room for the scale of strength, px, to the right of the plot. */
export const HEAT_ROOM = 56;

/** Draws the cells: the more deliveries, the stronger; the scale of strength is logarithmic, and is drawn to the right. */
export function drawHeat(u: uPlot, columns: HeatColumn[], colour: string, ink: string, font: string): void {
  const { left, top, width, height } = u.bbox;
  const { min, max } = u.scales.x ?? {};
  const visible = columns.filter(({ start, end }) => start < (max ?? 0) && end > (min ?? 0));
  const shown = merged(visible, width / devicePixelRatio / LEAST_WIDTH);
  const most = Math.max(1, ...shown.flatMap((column) => cells(column).map(([, deliveries]) => deliveries)));
  const strength = (deliveries: number) => 0.1 + (0.9 * Math.log1p(deliveries)) / Math.log1p(most);
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  u.ctx.fillStyle = colour;
  for (const column of shown) {
    const x0 = Math.round(u.valToPos(column.start, 'x', true));
    const x1 = Math.round(u.valToPos(column.end, 'x', true));
    for (const [bin, deliveries] of cells(column)) {
      if (deliveries === 0) continue;
      const y0 = Math.round(u.valToPos(binStart(bin + 1), 'y', true));
      const y1 = Math.round(u.valToPos(binStart(bin), 'y', true));
      u.ctx.globalAlpha = strength(deliveries);
      u.ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
  }
  u.ctx.restore();
  const ratio = devicePixelRatio;
  const x = left + width + 8 * ratio;
  u.ctx.save();
  u.ctx.font = font;
  u.ctx.textAlign = 'left';
  const steps = Math.min(STEPS, most);
  for (let i = 0; i < steps; i++) {
    // A cell of each strength, from the most down to one delivery.
    const deliveries = Math.round(most ** (1 - i / Math.max(1, steps - 1)));
    const y = top + (i * height) / steps;
    u.ctx.fillStyle = colour;
    u.ctx.globalAlpha = strength(deliveries);
    u.ctx.fillRect(x, y, 8 * ratio, height / steps);
    if (i > 0 && i < steps - 1) continue;
    u.ctx.globalAlpha = 1;
    u.ctx.fillStyle = ink;
    u.ctx.textBaseline = i === 0 ? 'top' : 'bottom';
    u.ctx.fillText(count(deliveries), x + 12 * ratio, i === 0 ? top : top + height);
  }
  u.ctx.restore();
}
