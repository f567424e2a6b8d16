import { count, figure, ms, msUnit } from '../../format.ts';
import { Chart } from '../../page/chart.tsx';
import { type Line, overOneAxis } from '../../page/chart-data.ts';
import { styleOf } from '../../page/chart-series.ts';
import { type Column, Long, Table } from '../../page/table.tsx';
import { ARROWS, markOf, runOf, toolsOf } from '../facts.ts';
import { type Figures, PERCENTILES, type Percentile, type ToolEntry, type Truth } from '../result.ts';
import type { ResultProps } from './page.tsx';

interface TruthProps extends ResultProps {
  truth: Truth;
}

const NAMES: Record<Percentile, string> = { p50: 'p50', p90: 'p90', p99: 'p99', p999: 'p99.9', max: 'max' };

/** One truth: what the server does, the curves of the tools over its own, and their figures. */
export function TruthSection({ result, truth }: TruthProps) {
  const tools = toolsOf(result);
  const open = tools.filter(({ model }) => model === 'open');
  const waiting = tools.filter(({ model }) => model !== 'open');
  return (
    <section class="truth">
      <h2>
        {truth.title} <span class="unit">--truths {truth.name}</span>
      </h2>
      <p class="aside">{truth.about}</p>
      <div class="charts">
        <Curves result={result} truth={truth} tools={open} name={`Open under ${truth.name}`} />
        <Curves result={result} truth={truth} tools={waiting} name={`Closed and paced under ${truth.name}`} />
      </div>
      <FiguresTable result={result} truth={truth} />
    </section>
  );
}

interface CurvesProps extends TruthProps {
  tools: ToolEntry[];
  name: string;
}

/** The figures that tools report over the curve of the truth. All charts of a truth have one axis. */
function Curves({ result, truth, tools, name }: CurvesProps) {
  const reported = tools.flatMap((tool, i) => {
    const run = runOf(result, tool.name, truth.name);
    return run ? [{ title: tool.title, style: styleOf(i), points: pointsOf(run.reported, truth) }] : [];
  });
  const { x, values } = overOneAxis([curveOf(truth), ...reported.map(({ points }) => points)]);
  const lines: Line[] = [
    { label: 'truth, from due', values: values[0] ?? [], colour: 'ink' },
    ...reported.map(({ title, style }, i) => ({ label: title, values: values[i + 1] ?? [], ...style })),
  ];
  const [low, high] = rangeOf(result, truth);
  const p99s = reported.flatMap(({ points }) => points.filter(([at]) => at === 99).map(([, value]) => value));
  const said = p99s.length === 0 ? 'none' : `${ms(Math.min(...p99s))} to ${msUnit(Math.max(...p99s))}`;
  return (
    <Chart
      name={name}
      unit="ms, logarithmic; 90, 99, 99.9 % are equally far apart"
      title={`True p99 ${msUnit(truth.due.p99_ms)}, reported ${said}`}
      note="Points are what a tool reports; the last one is its maximum."
      kind="percentile"
      x={x}
      log
      height={280}
      format={ms}
      lines={lines}
      tune={(options) => ({
        ...options,
        scales: { ...options.scales, y: { ...options.scales?.y, range: [low / 1.3, high * 1.3] } },
        series: options.series.map((series, i) => {
          if (i === 1) return { ...series, width: 4 };
          return i > 1 ? { ...series, points: { ...series.points, show: true, size: 6 } } : series;
        }),
      })}
    />
  );
}

type Points = [percentile: number, ms: number][];

/** The percentile at which a maximum is drawn: the last one that so many samples have. */
function lastOf({ due }: Truth): number {
  return 100 * (1 - 1 / Math.max(2, due.count));
}

function curveOf(truth: Truth): Points {
  const last = lastOf(truth);
  const points = truth.due.curve.map(([quantile, value]): [number, number] => [100 * quantile, value]);
  return [...points.filter(([at, value]) => at < last && value > 0), [last, truth.due.max_ms]];
}

function pointsOf(figures: Figures, truth: Truth): Points {
  const last = lastOf(truth);
  const at: Record<Percentile, number> = { p50: 50, p90: 90, p99: 99, p999: 99.9, max: last };
  return PERCENTILES.flatMap((name): Points => {
    const value = figures[`${name}_ms`];
    return value === undefined || value <= 0 || (at[name] >= last && name !== 'max')
      ? []
      : [[at[name], value]];
  });
}

/** The least and the largest latency of a truth and of all tools under it. */
function rangeOf(result: ResultProps['result'], truth: Truth): [number, number] {
  const all = [
    curveOf(truth),
    ...toolsOf(result).map(({ name }) => {
      const run = runOf(result, name, truth.name);
      return run ? pointsOf(run.reported, truth) : [];
    }),
  ].flatMap((points) => points.filter(([at]) => at >= 50).map(([, value]) => value));
  return [Math.min(...all), Math.max(...all)];
}

/** What each tool reports, beside what the server has counted. */
function FiguresTable({ result, truth }: TruthProps) {
  const rows = toolsOf(result).map((tool) => ({ tool, run: runOf(result, tool.name, truth.name) }));
  type Row = Partial<(typeof rows)[number]>;
  const columns: Column<Row>[] = [
    { head: 'load generator', text: true, cell: ({ tool }) => tool?.title ?? 'truth, from due' },
    ...PERCENTILES.map((name) => ({
      head: NAMES[name],
      unit: 'ms',
      cell: ({ tool, run }: Row) => {
        if (!tool) return ms(truth.due[`${name}_ms`]);
        const { tone } = markOf(result, tool.name, truth, name);
        return <span class={`off ${tone}`}>{`${ARROWS[tone]} ${ms(run?.reported[`${name}_ms`])}`}</span>;
      },
    })),
    {
      head: 'server’s p99',
      unit: 'from receipt, ms',
      cell: ({ run }) => ms(run?.served.p99_ms),
    },
    {
      head: 'done',
      unit: 'said / true',
      cell: ({ run }) => run && `${count(run.reported.requests.done)} / ${count(run.requests.answered)}`,
    },
    {
      head: 'failed',
      unit: 'said / true',
      cell: ({ run }) =>
        run &&
        `${count(run.reported.requests.failed)} / ${count(run.requests.reset + run.requests.lost + run.requests.refused_connections)}`,
    },
    { head: 'sent late', unit: 'p99, ms', cell: ({ run }) => ms(run?.gaps.late_p99_ms) },
    { head: 'CPU', unit: 'µs/request', cell: ({ run }) => figure(run?.cpu_us) },
    {
      head: 'says',
      text: true,
      cell: ({ run }) =>
        run?.reported.said.length ? <Long text={run.reported.said.join(' ')} /> : run && 'nothing',
    },
  ];
  return (
    <div class="figures">
      <Table
        caption="Reported by each tool, and beside it the server’s own record; of repeats the first run that is used. Sent late: behind an even schedule from the first request. Says: of not keeping up."
        columns={columns}
        rows={[{}, ...rows]}
      />
    </div>
  );
}
