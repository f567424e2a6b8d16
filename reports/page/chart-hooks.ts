/** What is drawn on a chart's canvas beside its lines: phases, gaps, cells, marks. */
import type uPlot from 'uplot';
import type { ChartData, Colour } from './chart-data.ts';
import type { PhaseSpan, Span } from './facts.ts';
import { drawHeat } from './heat.ts';

/** px of a band that holds its name. */
const LEAST_BAND = 12;
/** Points of a band at which there may be room for it. */
const MOST_LOOKED_AT = 200;

/** What a chart shows beside its lines. */
export function hooks(chart: ChartData, colour: (name: Colour) => string, font: string): uPlot.Hooks.Arrays {
  const { phases, gaps = [], heat, marks } = chart;
  const spans = phases ? spanHooks(phases, gaps, colour, font) : {};
  return {
    drawClear: [
      ...(spans.drawClear ?? []),
      ...(heat ? [(u: uPlot) => drawHeat(u, heat, colour('heat'))] : []),
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
  u.ctx.font = font.replace('11px', `600 ${11 * ratio}px`);
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

/** Writes the name of each band where it is thickest, so that it is told without its colour; nothing where it does not fit. */
function nameBands(u: uPlot, { lines }: ChartData, colour: (name: Colour) => string, font: string): void {
  const { left, width } = u.bbox;
  const ratio = devicePixelRatio;
  const y = (row: number, i: number) => u.valToPos(row === 0 ? 0 : (u.data[row]?.[i] ?? 0), 'y', true);
  const step = Math.ceil(u.data[0].length / MOST_LOOKED_AT);
  const points = [...u.data[0].keys()].filter((i) => i % step === 0);
  const at = points.map((i) => u.valToPos(u.data[0][i] ?? 0, 'x', true));
  u.ctx.save();
  u.ctx.font = font.replace('11px', `600 ${11 * ratio}px`);
  u.ctx.textBaseline = 'middle';
  u.ctx.textAlign = 'center';
  u.ctx.lineWidth = 3 * ratio;
  u.ctx.lineJoin = 'round';
  u.ctx.strokeStyle = colour('paper');
  u.ctx.fillStyle = colour('ink');
  for (const [k, { label }] of lines.entries()) {
    if (u.series[k + 1]?.show === false) continue;
    const half = u.ctx.measureText(label).width / 2 + ratio;
    const edges = points.map((i) => [y(k + 1, i), y(k, i)] as const);
    let best: { thick: number; x: number; y: number } | null = null;
    for (const x of at) {
      if (x < left + half || x > left + width - half) continue;
      // What of the band is there all along the name.
      const along = edges.filter((_, i) => Math.abs((at[i] ?? 0) - x) <= half);
      const top = Math.max(...along.map(([upper]) => upper));
      const bottom = Math.min(...along.map(([, lower]) => lower));
      if (bottom - top > (best?.thick ?? LEAST_BAND * ratio)) {
        best = { thick: bottom - top, x, y: (top + bottom) / 2 };
      }
    }
    if (best === null) continue;
    u.ctx.strokeText(label, best.x, best.y);
    u.ctx.fillText(label, best.x, best.y);
  }
  u.ctx.restore();
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
