import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, count, ms, percentileText } from '../format.ts';
import { beforeLoad } from './before-load.ts';
import { X_NAMES } from './chart-axes.ts';
import type { ChartData } from './chart-data.ts';
import { chartOptions, label, TIME } from './chart-options.ts';
import { chosenRange } from './chart-ranges.ts';
import { alignedData, formatOf } from './chart-series.ts';
import { binStart, cells, type HeatColumn, merged, usedBins } from './heat.ts';
import { onKey } from './keys.ts';
import { Table } from './table.tsx';

const HEIGHT = 200;
/** The height of a legend of one line, px; it is kept free until the chart is drawn. */
const LEGEND = 20;
/** Half of the narrower of A4 and Letter, as report.css lays it out. */
const PRINT_WIDTH = 336;
const PRINT_HEIGHT = 150;
/** The most rows of a chart's table; a longer chart shows one value in so many. */
const MOST_ROWS = 120;

export interface ChartProps extends ChartData {
  /** The name of the data. */
  name: string;
  /** The message of the chart, with its figures: read above it, and instead of it. */
  title: string;
  /** Sentences beside the title. */
  note?: string;
  /** Says what a reader can do with the chart; not on paper. */
  hint?: string;
}

/** A chart with its title, name, unit and legend; words where there is nothing to draw. */
export function Chart(props: ChartProps) {
  const { name, unit, title, note, hint } = props;
  const lines = props.lines.filter((line) => line.values.some((value) => value !== null));
  const empty = props.x.length === 0 || lines.every(({ behind }) => behind);
  return (
    <figure class="chart">
      <figcaption>
        <h3 class={!empty && props.kind === 'time' ? 'of-time' : undefined}>
          {empty ? `${name}: no data` : title}
        </h3>
        <p>
          <span class="what">{name}</span>, {unit}
          {!empty && note && `. ${note}`}
          {!empty && hint && <span class="screen"> {hint}</span>}
        </p>
      </figcaption>
      {!empty && <Plot {...props} lines={lines} />}
      {!empty && <AsTable {...props} lines={lines} />}
    </figure>
  );
}

/** The lines of a chart in figures, made when they are asked for. */
function AsTable(chart: ChartProps) {
  const [open, setOpen] = useState(false);
  const { x, lines, kind, name, unit, heat } = chart;
  const step = Math.ceil(x.length / MOST_ROWS);
  const rows = open ? x.map((_, i) => i).filter((i) => i % step === 0) : [];
  return (
    <details class="data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary tabIndex={-1}>{name} as a table</summary>
      {open && (
        <Table
          caption={`${name}, ${heat ? 'ms' : unit}${step > 1 ? `; one in ${step} values` : ''}`}
          columns={[
            { head: X_NAMES[kind], text: true, cell: (i) => tableLabel(chart, x[i] as number) },
            ...lines.map((line) => ({
              head: line.label,
              cell: (i: number) => formatOf(chart, line)(line.values[i] ?? null),
            })),
          ]}
          rows={rows}
        />
      )}
      {open && heat && <Cells heat={heat} />}
    </details>
  );
}

/** The cells of a heat map in figures. */
function Cells({ heat }: { heat: HeatColumn[] }) {
  const [low, end] = usedBins(heat) ?? [0, 0];
  return (
    <Table
      caption="Deliveries by the time they arrived in and by their latency"
      columns={[
        {
          head: X_NAMES.time,
          text: true,
          cell: ({ start, end }) => (end - start > 1 ? `${clock(start)} – ${clock(end)}` : clock(start)),
        },
        ...Array.from({ length: end - low }, (_, i) => ({
          head: `${ms(binStart(low + i))} – ${ms(binStart(low + i + 1))}`,
          unit: 'ms',
          cell: (column: HeatColumn) => count(new Map(cells(column)).get(low + i) ?? 0),
        })),
      ]}
      rows={merged(heat, MOST_ROWS)}
    />
  );
}

/** Percentiles are kept as they are, and drawn by their nines. */
function tableLabel(chart: ChartProps, x: number): string {
  return chart.kind === 'percentile' ? percentileText(x, 4) : label(chart, x);
}

function Plot(chart: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    return mount(element, chart);
  }, [chart]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div
      class="plot"
      ref={host}
      role="group"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the cursor and the zoom are moved by keys
      tabIndex={0}
      aria-label={`${chart.name}: ${chart.kind === 'time' ? KEYS : CURSOR_KEYS}`}
      style={{ minHeight: `${(chart.height ?? HEIGHT) + LEGEND}px` }}
    />
  );
}

const CURSOR_KEYS = 'left and right move the cursor, down goes to the lines and the table';
const KEYS = `${CURSOR_KEYS}, plus and minus zoom, 0 shows everything`;

/** The names of a chart's lines in its legend, in their order. */
function linesOf(plot: uPlot): HTMLElement[] {
  return [...plot.root.querySelectorAll<HTMLElement>('.u-legend tr:not(:first-child) th')];
}

/** uPlot hides a line by a click on its name: by keyboard too. */
function asButton(name: HTMLElement): void {
  const button = name.querySelector<HTMLElement>('.u-label') ?? name;
  button.tabIndex = -1; // a chart is one stop: ArrowDown leads from it to its lines
  button.setAttribute('role', 'button');
  const pressed = () =>
    button.setAttribute('aria-pressed', `${!name.parentElement?.classList.contains('u-off')}`);
  name.addEventListener('click', pressed);
  pressed();
}

/** @returns whether a key was for the name of a line */
function onLine({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement) || target.role !== 'button' || (key !== 'Enter' && key !== ' '))
    return false;
  target.click();
  return true;
}

/** Moves the focus from the chart down through the names of its lines, and up again. @returns whether it did */
function toLine(key: string, host: HTMLElement): boolean {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (step === undefined) return false;
  const lines = host.querySelectorAll<HTMLElement>('.u-legend [role=button]');
  const table = host.parentElement?.querySelector<HTMLElement>('summary');
  const stops = [host, ...lines, ...(table ? [table] : [])];
  const next = stops[stops.indexOf(document.activeElement as HTMLElement) + step];
  next?.focus();
  return next !== undefined;
}

/** Draws into the element, wherever the reader has scrolled to, and again whenever its width, the colour scheme or the medium changes. */
function mount(element: HTMLElement, chart: ChartProps): () => void {
  let plot: uPlot | undefined;
  let width = 0;
  const print = matchMedia('print');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    width = print.matches ? PRINT_WIDTH * (chart.wide ? 2 : 1) : element.clientWidth;
    const height = Math.min(chart.height ?? HEIGHT, print.matches ? PRINT_HEIGHT : Number.POSITIVE_INFINITY);
    plot?.destroy();
    const other = chart.kind === 'time' ? uPlot.sync(TIME).plots[0] : undefined;
    const chosen = other && chosenRange(other);
    element.style.minHeight = '';
    plot = new uPlot(chartOptions(chart, element, width, height), alignedData(chart), element);
    if (chosen) plot.setScale('x', chosen);
    const picture = plot.root.querySelector('.u-wrap');
    picture?.setAttribute('role', 'img');
    picture?.setAttribute('aria-label', `${chart.title}. ${chart.name}, ${chart.unit}`);
    if (chart.lines.length > 1) for (const line of linesOf(plot)) asButton(line);
  };
  const resized = new ResizeObserver(() => {
    if (plot && !print.matches && element.clientWidth !== width) draw();
  });
  const recolour = () => plot && draw();
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !plot) return;
    if (onLine(event) || toLine(event.key, element)) return event.preventDefault();
    // Whoever moves the cursor by keys may hear what is there.
    plot.root.querySelector('.u-legend')?.setAttribute('aria-live', 'polite');
    if (onKey(event.key, plot, chart.kind === 'time')) event.preventDefault();
  };
  let gone = false;
  beforeLoad(() => {
    if (!gone && !plot) draw();
  });
  resized.observe(element);
  element.addEventListener('keydown', keyed);
  print.addEventListener('change', draw);
  dark.addEventListener('change', recolour);
  return () => {
    gone = true;
    resized.disconnect();
    element.removeEventListener('keydown', keyed);
    print.removeEventListener('change', draw);
    dark.removeEventListener('change', recolour);
    plot?.destroy();
  };
}
