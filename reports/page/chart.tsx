import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { alignedData, type ChartData, chartOptions, label, TIME, X_NAMES } from './chart-options.ts';
import { onKey } from './keys.ts';
import { Table } from './table.tsx';

const HEIGHT = 190;
/** px of a legend of one line, kept free until the chart is drawn. */
const LEGEND = 20;
/** Half of the narrower of A4 and Letter, as report.css lays it out. */
const PRINT_WIDTH = 340;
const PRINT_HEIGHT = 180;
/** What is so near to the screen is drawn already. */
const NEAR = '400px';
/** Of a chart as a table; a longer one leaves out what lies between. */
const MOST_ROWS = 120;

export interface ChartProps extends ChartData {
  title: string;
  unit: string;
  /** What the chart says, in words: read beside it, and instead of it. */
  note: string;
}

/** A chart with its title, unit, note and legend; a sentence where there is nothing to draw. */
export function Chart(props: ChartProps) {
  const { title, unit, note } = props;
  const lines = props.lines.filter((line) => line.values.some((value) => value !== null));
  const empty = props.x.length === 0 || lines.length === 0;
  return (
    <figure class="chart">
      <figcaption>
        <h3>
          {title} <span class="unit">{unit}</span>
        </h3>
        <p>{empty ? 'No data.' : note}</p>
      </figcaption>
      {!empty && <Plot {...props} lines={lines} />}
      {!empty && <AsTable {...props} lines={lines} />}
    </figure>
  );
}

/** The lines of a chart in figures, made when they are asked for. */
function AsTable(chart: ChartProps) {
  const [open, setOpen] = useState(false);
  const { x, lines, format, kind, title, unit } = chart;
  const step = Math.ceil(x.length / MOST_ROWS);
  const rows = open ? x.map((_, i) => i).filter((i) => i % step === 0) : [];
  return (
    <details class="data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title} as a table</summary>
      {open && (
        <Table
          caption={`${title}, ${unit}${step > 1 ? `; one in ${step} values` : ''}`}
          columns={[
            { head: X_NAMES[kind], text: true, cell: (i) => tableLabel(chart, x[i] as number) },
            ...lines.map((line) => ({
              head: line.label,
              cell: (i: number) => format(line.values[i] ?? null),
            })),
          ]}
          rows={rows}
        />
      )}
    </details>
  );
}

/** Percentiles are kept as they are, and drawn by their nines. */
function tableLabel(chart: ChartProps, x: number): string {
  return chart.kind === 'percentile' ? `${Number(x.toFixed(4))}` : label(chart, x);
}

function Plot(chart: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
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
      aria-label={`${chart.title}: ${chart.kind === 'time' ? KEYS : CURSOR_KEYS}`}
      style={{ minHeight: `${(chart.height ?? HEIGHT) + LEGEND}px` }}
    />
  );
}

const CURSOR_KEYS = 'arrow keys move the cursor';
const KEYS = `${CURSOR_KEYS}, plus and minus zoom, 0 shows everything`;

/**
 * Draws into the element when it comes near the screen or is printed, and again whenever its width, the colour scheme or the
 * medium changes.
 */
function mount(element: HTMLElement, chart: ChartProps): () => void {
  let plot: uPlot | undefined;
  let width = 0;
  const print = matchMedia('print');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    width = print.matches ? PRINT_WIDTH : element.clientWidth;
    const height = Math.min(chart.height ?? HEIGHT, print.matches ? PRINT_HEIGHT : Number.POSITIVE_INFINITY);
    plot?.destroy();
    const shown = chart.kind === 'time' ? uPlot.sync(TIME).plots[0]?.scales.x : undefined;
    element.style.minHeight = '';
    plot = new uPlot(chartOptions(chart, element, width, height), alignedData(chart), element);
    if (shown?.min != null && shown.max != null) plot.setScale('x', { min: shown.min, max: shown.max });
    const picture = plot.root.querySelector('.u-wrap');
    picture?.setAttribute('role', 'img');
    picture?.setAttribute('aria-label', `${chart.title}, ${chart.unit}. ${chart.note}`);
  };
  const resized = new ResizeObserver(() => {
    if (plot && !print.matches && element.clientWidth !== width) draw();
  });
  const begin = () => {
    near.disconnect();
    if (!plot) draw();
  };
  const near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && begin(), {
    rootMargin: NEAR,
  });
  const recolour = () => plot && draw();
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !plot) return;
    if (onKey(event.key, plot, chart.kind === 'time')) event.preventDefault();
  };
  near.observe(element);
  resized.observe(element);
  element.addEventListener('keydown', keyed);
  addEventListener('beforeprint', begin);
  print.addEventListener('change', draw);
  dark.addEventListener('change', recolour);
  return () => {
    near.disconnect();
    resized.disconnect();
    element.removeEventListener('keydown', keyed);
    removeEventListener('beforeprint', begin);
    print.removeEventListener('change', draw);
    dark.removeEventListener('change', recolour);
    plot?.destroy();
  };
}
