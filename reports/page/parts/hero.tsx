import type { Run } from '../../contract/run.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { overTime, peak, percentile } from '../facts.ts';
import { clock, count, ms, msUnit, percent, plural } from '../format.ts';
import { burstOf, drainOf, quartersOf, shapeOf } from '../shape.ts';
import { Ladder } from './ladder.tsx';
import { SweepCharts } from './sweep.tsx';

/** The chart that answers what the run asks: by concurrency, of a search, of a burst, of a steady load, else p99 over time. */
export function Hero({ run }: { run: Run }) {
  const shape = shapeOf(run);
  if (shape === 'sweep') return <SweepCharts run={run} />;
  return (
    <div class="hero">
      {run.probes && <Ladder probes={run.probes} limit={run.answer?.p99_limit_ms ?? null} />}
      {shape === 'spike' && <BurstChart run={run} />}
      <P99Chart run={run} steady={shape === 'steady'} />
    </div>
  );
}

/** p99 second by second, with the limit, over the load. */
function P99Chart({ run, steady }: { run: Run; steady: boolean }) {
  const { timeline, answer } = run;
  if (timeline.length < 2) return null;
  const limit = answer?.p99_limit_ms ?? null;
  const p99: Line = {
    label: 'arrival p99',
    values: timeline.map(({ arrival }) => (arrival === null ? null : percentile(arrival, 'p99'))),
    colour: 'p99',
  };
  if (p99.values.every((value) => value === null)) return null;
  const lines: Line[] = [
    {
      label: `${run.run.model === 'closed' ? 'sent' : 'scheduled'} messages/s`,
      values: timeline.map(({ scheduled }) => scheduled),
      colour: 'grey',
      fill: true,
      behind: true,
    },
    p99,
    ...(steady ? quarterLines(run) : []),
    ...(limit === null
      ? []
      : [{ label: 'limit', values: timeline.map(() => limit), colour: 'fail', dash: 'dashed' as const }]),
  ];
  const above = limit === null ? 0 : p99.values.filter((value) => value !== null && value >= limit).length;
  return (
    <Chart
      {...overTime(run)}
      name="Arrival p99"
      unit={wantsLog(lines) ? 'ms, logarithmic; the load behind it' : 'ms; the load behind it'}
      title={(steady && steadyTitle(run)) || title(p99.values, limit, above, timeline)}
      x={timeline.map(({ t }) => t + 0.5)}
      log={wantsLog(lines)}
      format={ms}
      lines={lines}
      height={220}
      wide
    />
  );
}

/** p99 of the second and of the last quarter, over their seconds. */
function quarterLines(run: Run): Line[] {
  const quarters = quartersOf(run);
  return [
    {
      label: 'p99 of a quarter',
      colour: 'orange',
      dash: 'dotted',
      values: run.timeline.map(
        ({ t }) => quarters.find(({ start, end }) => t + 0.5 >= start && t + 0.5 < end)?.p99 ?? null,
      ),
    },
  ];
}

function steadyTitle(run: Run): string | null {
  const [second, last] = quartersOf(run).map(({ p99 }) => p99);
  if (second == null || last == null || second <= 0) return null;
  const change = last / second - 1;
  const how =
    Math.abs(change) < 0.005 ? 'equal' : `${percent(Math.abs(change))} ${change > 0 ? 'higher' : 'lower'}`;
  return `p99 of the last quarter, ≈ ${msUnit(last)}, is ${how}${how === 'equal' ? ' to' : ' than'} that of the second, ≈ ${msUnit(second)}`;
}

function title(
  p99: (number | null)[],
  limit: number | null,
  above: number,
  timeline: Run['timeline'],
): string {
  const most = p99.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const worst = `at most ${msUnit(most)} (${clock(timeline[p99.indexOf(most)]?.t ?? 0)})`;
  if (limit === null) return `p99 of each second was ${worst}`;
  if (above === 0) return `p99 of each second was below the limit of ${msUnit(limit)}: ${worst}`;
  return `p99 was at or above the limit of ${msUnit(limit)} in ${plural(above, 'second')}: ${worst}`;
}

/** The backlog after a burst, and how it drained. */
function BurstChart({ run }: { run: Run }) {
  const { timeline } = run;
  const burst = burstOf(run);
  if (burst === null || timeline.length < 2) return null;
  const most = peak(timeline, ({ backlog }) => backlog);
  const left = drainOf(run, burst) === null ? ', which was not drained when the run ended' : '';
  return (
    <Chart
      {...overTime(run)}
      name="Burst and drain"
      unit="deliveries per second; the backlog behind them"
      axis="deliveries per second"
      title={`The burst left a backlog of up to ${plural(most?.value ?? 0, 'delivery', 'deliveries')} (${clock(most?.t ?? 0)})${left}`}
      x={timeline.map(({ t }) => t + 0.5)}
      format={count}
      whole
      lines={[
        {
          label: 'backlog',
          values: timeline.map(({ backlog }) => backlog),
          colour: 'orange',
          fill: true,
          behind: true,
        },
        { label: 'due', values: timeline.map(({ due = null }) => due), colour: 'grey', dash: 'dashed' },
        { label: 'arrived', values: timeline.map(({ arrived }) => arrived), colour: 'blue' },
      ]}
      height={220}
      wide
    />
  );
}
