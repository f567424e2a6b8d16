import { count, figure, ms, msUnit } from '../../format.ts';
import { Chart } from '../../page/chart.tsx';
import { type Line, overOneAxis } from '../../page/chart-data.ts';
import { styleOf } from '../../page/chart-series.ts';
import { type Column, Long, Table } from '../../page/table.tsx';
import { ARROWS, markOf, runOf, toolsOf } from '../facts.ts';
import {
  type Figures,
  PERCENTILES,
  type Percentile,
  type Quantiles,
  type RefereeRun,
  type ToolEntry,
  type Truth,
} from '../result.ts';
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
        <Curves result={result} truth={truth} tools={open} name="Open" />
        <Curves result={result} truth={truth} tools={waiting} name="Closed and paced" />
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
  if (reported.length === 0) return null;
  const curves = [curveOf(truth), pointsOf(truth.due, truth), ...reported.map(({ points }) => points)];
  const { x, values } = overOneAxis(curves);
  const lines: Line[] = [
    { label: 'truth', values: values[0] ?? [], colour: 'phase-line' },
    { label: 'truth at these percentiles', values: values[1] ?? [], colour: 'ink' },
    ...reported.map(({ title, style, points }, i) => ({
      label: title,
      values: values[i + 2] ?? [],
      ...style,
      ...(points.length < FEW && { as: 'points' as const }),
    })),
  ];
  const [low, high] = rangeOf(result, truth);
  const p99s = reported.flatMap(({ points }) => points.filter(([at]) => at === 99).map(([, value]) => value));
  const said = p99s.length === 0 ? 'none' : `${ms(Math.min(...p99s))} to ${msUnit(Math.max(...p99s))}`;
  return (
    <Chart
      name={`${name} under ${truth.name}`}
      unit="ms, logarithmic; 90, 99, 99.9 % are equally far apart"
      title={`${name}: p99 ${said}, true ${msUnit(truth.due.p99_ms)}`}
      note="Points are reported, and joined for the eye; the last is the maximum."
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
          if (i === 1) return { ...series, width: 5 };
          return i > 1 ? { ...series, points: { ...series.points, show: true, size: 6 } } : series;
        }),
      })}
    />
  );
}

/** No line joins fewer points: it would cross what lies between them. */
const FEW = 3;

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

function pointsOf(figures: Partial<Quantiles> | Figures, truth: Truth): Points {
  const last = lastOf(truth);
  const at: Record<Percentile, number> = { p50: 50, p90: 90, p99: 99, p999: 99.9, max: last };
  return PERCENTILES.flatMap((name): Points => {
    const value = figures[`${name}_ms`];
    return value === undefined || value <= 0 || (at[name] >= last && name !== 'max')
      ? []
      : [[at[name], value]];
  });
}

/** The least ratio of the ends of an axis: a small difference looks small. */
const SPAN = 10;

/** The least and the largest latency of a truth and of all tools under it. */
function rangeOf(result: ResultProps['result'], truth: Truth): [number, number] {
  const all = [
    curveOf(truth),
    ...toolsOf(result).map(({ name }) => {
      const run = runOf(result, name, truth.name);
      return run ? pointsOf(run.reported, truth) : [];
    }),
  ].flatMap((points) => points.filter(([at]) => at >= 50).map(([, value]) => value));
  const low = Math.min(...all);
  return [low, Math.max(SPAN * low, ...all)];
}

/** Row is a tool and its run; the truth's own row has neither. */
type Row = { tool?: ToolEntry; run?: RefereeRun | undefined };

/** What each tool reports, beside what the server has counted. */
function FiguresTable({ result, truth }: TruthProps) {
  const rows = toolsOf(result).map((tool) => ({ tool, run: runOf(result, tool.name, truth.name) }));
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
      head: 'p99 off by',
      cell: ({ tool }) => {
        if (!tool) return '';
        const { tone, text, range } = markOf(result, tool.name, truth);
        return (
          <>
            <span class={`off ${tone}`}>{text}</span>
            {range !== '' && <small>{range}</small>}
          </>
        );
      },
    },
    {
      head: 'server’s p99',
      unit: 'from receipt, ms',
      cell: ({ run }) => run && ms(run.served.p99_ms),
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
    { head: 'sent late', unit: 'p99, ms', cell: ({ run }) => run && ms(run.gaps.late_p99_ms) },
    { head: 'CPU', unit: 'µs/request', cell: ({ run }) => run && figure(run.cpu_us) },
  ];
  return (
    <div class="figures">
      <Table
        caption="Reported by each tool, and beside it the server’s own record; of repeats the first run that is used. Sent late: behind an even schedule from the first request."
        columns={columns}
        rows={[{}, ...rows]}
      />
      <Said rows={rows} />
    </div>
  );
}

/** What the tools themselves say of not keeping up. */
function Said({ rows }: { rows: Row[] }) {
  const said = rows.filter(({ run }) => run && run.reported.said.length > 0);
  return (
    <div class="small">
      {said.map(({ tool, run }) => (
        <p key={tool?.name}>
          {tool?.title} says: <Long text={run?.reported.said.join(' ') ?? ''} code />
        </p>
      ))}
      <p>{said.length === 0 ? 'None' : 'None of the others'} says that it did not keep up.</p>
    </div>
  );
}
