import { count, figure, ms, msUnit, percent } from '../../format.ts';
import { Chart } from '../../page/chart.tsx';
import { overOneAxis } from '../../page/chart-data.ts';
import { styleOf } from '../../page/chart-series.ts';
import { type Column, Long, Table } from '../../page/table.tsx';
import { ARROWS, failuresOf, markOf, runOf, toolsOf } from '../facts.ts';
import {
  type Figures,
  PERCENTILES,
  type Percentile,
  type Quantiles,
  type RefereeRun,
  type Requests,
  type ToolEntry,
  type Truth,
} from '../result.ts';
import type { ResultProps } from './page.tsx';

interface TruthProps extends ResultProps {
  truth: Truth;
}

/** Row is a tool and the run whose figures stand for it; the truth's own row has neither. */
interface Row {
  tool?: ToolEntry;
  run?: RefereeRun | undefined;
}

const NAMES: Record<Percentile, string> = { p50: 'p50', p90: 'p90', p99: 'p99', p999: 'p99.9', max: 'max' };
/** The least ratio of the ends of an axis: a small difference looks small. */
const SPAN = 10;
/** No line joins fewer points: it would cross what lies between them. */
const FEW = 3;

/** One truth: what the server does, the curves of the tools over its own, and their figures. */
export function TruthSection({ result, truth }: TruthProps) {
  const rows = toolsOf(result).map((tool) => ({ tool, run: runOf(result, tool.name, truth.name) }));
  const shown = rows.flatMap(({ tool, run }) =>
    run ? [{ tool, points: pointsOf(run.reported, truth) }] : [],
  );
  const reported = shown.flatMap(({ points }) => points.map(([, value]) => value));
  const all = [truth.due.p50_ms, truth.due.max_ms, ...reported];
  const low = Math.min(...all.filter((y) => y > 0));
  const range: Curve['range'] = [low / 1.3, 1.3 * Math.max(SPAN * low, ...all)];
  const of = (open: boolean) => shown.filter(({ tool }) => (tool.model === 'open') === open);
  return (
    <section class="truth">
      <h2>
        {truth.title} <span class="unit">--truths {truth.name}</span>
      </h2>
      <p class="aside">{truth.about}</p>
      <div class="charts">
        <Curves name="Open" truth={truth} shown={of(true)} range={range} />
        <Curves name="Closed and paced" truth={truth} shown={of(false)} range={range} />
      </div>
      <FiguresTable result={result} truth={truth} rows={rows} />
      <Said rows={rows} />
    </section>
  );
}

type Points = [percentile: number, ms: number][];

interface Curve {
  name: string;
  truth: Truth;
  shown: { tool: ToolEntry; points: Points }[];
  /** Of the axis, ms. */
  range: [low: number, high: number];
}

/** The figures that tools report over the curve of the truth. */
function Curves({ name, truth, shown, range }: Curve) {
  if (shown.length === 0) return null;
  const curves = [curveOf(truth), pointsOf(truth.due, truth), ...shown.map(({ points }) => points)];
  const { x, values } = overOneAxis(curves);
  const tools = shown.map(({ tool, points }, i) => ({
    label: tool.title,
    ...styleOf(i),
    ...(points.length < FEW && { as: 'points' as const }),
  }));
  const truths = [
    { label: 'truth', colour: 'phase-line' },
    { label: 'truth at these percentiles', colour: 'ink' },
  ];
  const p99s = shown.flatMap(({ points }) => points.filter(([at]) => at === 99).map(([, value]) => value));
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
      lines={[...truths, ...tools].map((line, i) => ({ ...line, values: values[i] ?? [] }))}
      tune={(options) => ({
        ...options,
        scales: { ...options.scales, y: { ...options.scales?.y, range } },
        series: options.series.map((series, i) => {
          if (i === 1) return { ...series, width: 5 };
          return i > 1 ? { ...series, points: { ...series.points, show: true, size: 6 } } : series;
        }),
      })}
    />
  );
}

/** The percentile at which a maximum is drawn: the last one that so many samples have. */
function lastOf({ due }: Truth): number {
  return 100 * (1 - 1 / Math.max(2, due.count));
}

function curveOf(truth: Truth): Points {
  const last = lastOf(truth);
  const points = truth.due.curve.map(([quantile, value]): Points[0] => [100 * quantile, value]);
  return [...points.filter(([at, value]) => at < last && value > 0), [last, truth.due.max_ms]];
}

function pointsOf(figures: Partial<Quantiles> | Figures, truth: Truth): Points {
  const last = lastOf(truth);
  const at: Record<Percentile, number> = { p50: 50, p90: 90, p99: 99, p999: 99.9, max: last };
  return PERCENTILES.map((name): Points[0] => [at[name], figures[`${name}_ms`] ?? 0]).filter(
    ([percentile, value], i) => value > 0 && (percentile < last || i === PERCENTILES.length - 1),
  );
}

/** What each tool reports, beside what the server has counted. */
function FiguresTable({ result, truth, rows }: TruthProps & { rows: Row[] }) {
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
    { head: 'server’s p99', unit: 'ms', cell: ({ run }) => run && ms(run.served.p99_ms) },
    counted('begun', ({ begun }) => begun),
    counted('done', ({ answered }) => answered),
    counted('failed', failuresOf),
    { head: 'gaps', unit: 'p99, ms', cell: ({ run }) => run && ms(run.gaps.p99_ms) },
    { head: 'sent late', unit: 'p99, ms', cell: ({ run }) => run && ms(run.gaps.late_p99_ms) },
    { head: 'CPU', unit: 'µs/request', cell: ({ run }) => run && figure(run.cpu_us) },
    {
      head: 'host',
      unit: 'busy / stolen',
      cell: ({ run }) => run && `${percent(run.host.busy)} / ${percent(run.host.steal)}`,
    },
  ];
  return (
    <div class="figures">
      <Table
        caption="Reported by each tool, and beside it the server’s own record; of repeats the run of the median p99. Server’s p99: from receipt. Gaps: between requests as they came in. Sent late: behind an even schedule from the first one."
        columns={columns}
        rows={[{}, ...rows]}
      />
    </div>
  );
}

/** A count of requests: as the server has it, and as the tool says it where that differs. */
function counted(head: 'begun' | 'done' | 'failed', truth: (requests: Requests) => number): Column<Row> {
  const cell = ({ run }: Row) => {
    if (!run) return '';
    const [said, is] = [run.reported.requests[head], truth(run.requests)];
    return said === is ? count(is) : <span class="off high">{`${count(said)} / ${count(is)}`}</span>;
  };
  return { head, unit: 'said / true', cell };
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
