/** Draws phases, gaps, cells and marks on a chart's canvas. */
import type uPlot from 'uplot';
import type { ChartData, Colour, Line } from './chart-data.ts';
import { lastMean } from './chart-paths.ts';
import type { PhaseSpan, TimeRange } from './facts.ts';
import { drawHeat } from './heat.ts';

/** Things that a chart shows beside its lines. */
export function hooks(chart: ChartData, colour: (name: Colour) => string, font: string): uPlot.Hooks.Arrays {
  const { phases, gaps = [], heat, marks } = chart;
  const spans = phases ? spanHooks(phases, gaps, colour, font) : {};
  return {
    drawClear: [
      ...(spans.drawClear ?? []),
      ...(heat
        ? [(u: uPlot) => drawHeat(u, heat, colour('heat'), colour('muted'), scaled(font, devicePixelRatio))]
        : []),
      ...(marks ? [(u: uPlot) => drawMarks(u, marks, colour, font)] : []),
    ],
    draw: [
      ...(spans.draw ?? []),
      ...(chart.stacked ? [(u: uPlot) => nameBands(u, chart, colour, font)] : []),
    ],
  };
}

function drawMarks(
  u: uPlot,
  marks: { x: number; name: string }[],
  colour: (name: Colour) => string,
  font: string,
): void {
  const { top, height } = u.bbox;
  const ratio = devicePixelRatio;
  u.ctx.save();
  u.ctx.font = `600 ${scaled(font, ratio)}`;
  u.ctx.textBaseline = 'bottom';
  u.ctx.fillStyle = colour('ink');
  u.ctx.strokeStyle = colour('ink');
  u.ctx.setLineDash([4 * ratio, 3 * ratio]);
  const places = marks.map(({ x, name }) => ({
    at: Math.round(u.valToPos(x, 'x', true)),
    name,
    half: u.ctx.measureText(name).width / 2 + 2 * ratio,
  }));
  places.sort((a, b) => a.at - b.at);
  for (const [i, { at, name, half }] of places.entries()) {
    // The names of two marks that are close lean away from each other.
    const [before, after] = [places[i - 1], places[i + 1]];
    const crowded = {
      before: before !== undefined && at - half < before.at + before.half,
      after: after !== undefined && at + half > after.at - after.half,
    };
    u.ctx.textAlign = crowded.after && !crowded.before ? 'right' : crowded.before ? 'left' : 'center';
    u.ctx.beginPath();
    u.ctx.moveTo(at, top);
    u.ctx.lineTo(at, top + height);
    u.ctx.stroke();
    u.ctx.fillText(name, at, top - 4 * ratio);
  }
  u.ctx.restore();
}

/** The distance between two names of bands, and from the plot to them, px. */
const NAME_HEIGHT = 12;
const NAME_GAP = 12;
/** Spare room beside a name, px: letters like w are wider than the average. */
const NAME_SPARE = 6;

/** Writes the name of each band to the right of the plot, beside its end: it is readable without colours, and for thin bands. */
function nameBands(u: uPlot, { lines }: ChartData, colour: (name: Colour) => string, font: string): void {
  const { left, top, width, height } = u.bbox;
  const ratio = devicePixelRatio;
  const rows = u.data.slice(1);
  let last = u.valToIdx(u.scales.x?.max ?? 0);
  while (last > 0 && rows.every((row) => row[last] == null)) last--;
  const y = (row: number) => u.valToPos(row < 0 ? 0 : lastMean(u, row + 1, last), 'y', true);
  const names = lines.flatMap((line, i) =>
    u.series[i + 1]?.show === false ? [] : [{ ...line, band: (y(i) + y(i - 1)) / 2, at: 0 }],
  );
  const apart = NAME_HEIGHT * ratio;
  // Places the names upwards from the bottom. If they end above the plot, the next loop moves them down again.
  let free = top + height - apart / 2;
  for (const name of names) {
    name.at = Math.min(name.band, free);
    free = name.at - apart;
  }
  free = top + apart / 2;
  for (const name of names.toReversed()) {
    name.at = Math.max(name.at, free);
    free = name.at + apart;
  }
  u.ctx.save();
  u.ctx.font = scaled(font, ratio);
  u.ctx.textBaseline = 'middle';
  u.ctx.textAlign = 'left';
  u.ctx.lineWidth = 2 * ratio;
  u.ctx.fillStyle = colour('ink');
  for (const { label, colour: own, band, at } of names) {
    u.ctx.strokeStyle = colour(own);
    u.ctx.beginPath();
    u.ctx.moveTo(left + width, band);
    u.ctx.lineTo(left + width + (NAME_GAP - 3) * ratio, at);
    u.ctx.stroke();
    u.ctx.fillText(shortName(label), left + width + NAME_GAP * ratio, at);
  }
  u.ctx.restore();
}

/** The label beside a band: of "user (us)" the abbreviation. */
function shortName(label: string): string {
  return /\((.+)\)/.exec(label)?.[1] ?? label;
}

/** The room to the right of the plot for the names of bands, px. */
export function nameRoom(lines: Line[]): number {
  return NAME_GAP + NAME_SPARE + widthOf(lines.map(({ label }) => shortName(label)));
}

/** A font for a canvas with so many device pixels to a px. */
export function scaled(font: string, ratio: number): string {
  return font.replace(/^\d+/, (size) => `${Number(size) * ratio}`);
}

/** The width of the longest text, px, at most: digits and letters of 11 px. */
export function widthOf(texts: readonly (string | null)[]): number {
  return 6.5 * Math.max(0, ...texts.map((text) => text?.length ?? 0));
}

/** Shades what is not measured and the gaps, draws the borders of the phases, and names them above the plot. */
function spanHooks(
  phases: PhaseSpan[],
  gaps: TimeRange[],
  colour: (name: Colour) => string,
  font: string,
): uPlot.Hooks.Arrays {
  function visible<S extends TimeRange>(u: uPlot, all: S[]) {
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
        u.ctx.save(); // uPlot remembers what it has set, and would go on in these colours
        for (const { x0, x1, top, height, measured } of visible(u, phases)) {
          u.ctx.fillStyle = colour(measured ? 'phase-line' : 'shade');
          u.ctx.fillRect(x0, top, measured ? 1 : x1 - x0, height);
        }
        u.ctx.fillStyle = colour('gap');
        for (const { x0, x1, top, height } of visible(u, gaps)) {
          u.ctx.fillRect(x0, top, Math.max(2 * devicePixelRatio, x1 - x0), height);
        }
        u.ctx.restore();
      },
    ],
    draw: [
      (u) => {
        const ratio = devicePixelRatio;
        u.ctx.save();
        u.ctx.font = scaled(font, ratio);
        u.ctx.fillStyle = colour('muted');
        u.ctx.textAlign = 'left';
        u.ctx.textBaseline = 'bottom';
        const shown = visible(u, phases);
        let free = 0;
        for (const [i, { x0, x1, top, name }] of shown.entries()) {
          const text = fit(u.ctx, name, x1 - x0 - 8 * ratio);
          // A last one that is too narrow for its name has it to the left of its end.
          const whole = u.ctx.measureText(name.slice(0, LONGEST)).width;
          const leans = text === '' && i === shown.length - 1 && x1 - whole > free;
          u.ctx.fillText(
            leans ? name.slice(0, LONGEST) : text,
            leans ? x1 - whole : x0 + 4 * ratio,
            top - 4 * ratio,
          );
          free = x0 + 8 * ratio + u.ctx.measureText(text).width;
        }
        u.ctx.restore();
      },
    ],
  };
}

/** Characters of a name. */
const LONGEST = 60;

/** Cuts a name to what fits; empty if nothing does. */
function fit(ctx: CanvasRenderingContext2D, name: string, width: number): string {
  let text = name.slice(0, LONGEST);
  if (text === name && ctx.measureText(text).width <= width) return text;
  while (text.length > 2 && ctx.measureText(`${text}…`).width > width) text = text.slice(0, -1);
  return text.length > 2 ? `${text}…` : '';
}
