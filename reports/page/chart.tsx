import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { alignedData, type ChartData, chartOptions } from './chart-options.ts';

const HEIGHT = 190;
/** Half of the narrower of A4 and Letter, as report.css lays it out. */
const PRINT_WIDTH = 340;
const PRINT_HEIGHT = 180;

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
    </figure>
  );
}

function Plot(chart: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    return mount(element, chart);
  }, [chart]);
  return <div class="plot" ref={host} />;
}

/** Draws into the element, again whenever its width, the colour scheme or the medium changes. */
function mount(element: HTMLElement, chart: ChartProps): () => void {
  let plot: uPlot | undefined;
  let width = 0;
  const print = matchMedia('print');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    width = print.matches ? PRINT_WIDTH : element.clientWidth;
    const height = Math.min(chart.height ?? HEIGHT, print.matches ? PRINT_HEIGHT : Number.POSITIVE_INFINITY);
    plot?.destroy();
    plot = new uPlot(chartOptions(chart, element, width, height), alignedData(chart), element);
    const picture = plot.root.querySelector('.u-wrap');
    picture?.setAttribute('role', 'img');
    picture?.setAttribute('aria-label', `${chart.title}, ${chart.unit}. ${chart.note}`);
  };
  const resized = () => {
    if (!print.matches && element.clientWidth !== width) draw();
  };
  draw();
  const observer = new ResizeObserver(resized);
  observer.observe(element);
  print.addEventListener('change', draw);
  dark.addEventListener('change', draw);
  return () => {
    observer.disconnect();
    print.removeEventListener('change', draw);
    dark.removeEventListener('change', draw);
    plot?.destroy();
  };
}
