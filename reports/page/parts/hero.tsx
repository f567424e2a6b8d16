import type { Run } from '../../contract/run.ts';
import { count, ms } from '../../format.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { overTime, percentileOf, titleOf } from '../facts.ts';
import { Ladder } from './ladder.tsx';
import { SweepCharts } from './sweep.tsx';

/** The charts that answer what the run asks: by concurrency, of a search, of refusals, of a burst, then latency over time. */
export function Hero({ run }: { run: Run }) {
  if (run.facts.shape === 'sweep') return <SweepCharts run={run} />;
  return (
    <div class="hero">
      {run.probes && (
        <Ladder probes={run.probes} title={titleOf(run, 'search')} limit={run.answer?.p99_limit_ms ?? null} />
      )}
      {run.facts.titles.refusals && <RefusalsChart run={run} />}
      {run.facts.recovery && <BurstChart run={run} />}
      <LatencyChart run={run} />
    </div>
  );
}

/** p99 second by second, or with too few deliveries the slowest of each, with the limit, over the load. */
function LatencyChart({ run }: { run: Run }) {
  const { timeline, answer } = run;
  if (timeline.length < 2) return null;
  const limit = answer?.p99_limit_ms ?? null;
  const p99 = timeline.map(({ arrival }) => percentileOf(arrival, 'p99'));
  const few = p99.every((value) => value === null);
  const shown: Line = few
    ? { label: 'slowest', values: timeline.map(({ arrival }) => arrival?.max ?? null), colour: 'p99' }
    : { label: 'arrival p99', values: p99, colour: 'p99' };
  if (shown.values.every((value) => value === null)) return null;
  const lines: Line[] = [
    {
      label: `${run.run.model === 'closed' ? 'sent' : 'scheduled'} messages/s`,
      values: timeline.map(({ scheduled }) => scheduled),
      colour: 'grey',
      fill: true,
      behind: true,
    },
    shown,
    ...(limit === null
      ? []
      : [{ label: 'limit', values: timeline.map(() => limit), colour: 'fail', dash: 'dashed' as const }]),
  ];
  return (
    <Chart
      {...overTime(run)}
      name={few ? 'Slowest arrival' : 'Arrival p99'}
      unit={wantsLog(lines) ? 'ms, logarithmic; the load behind it' : 'ms; the load behind it'}
      title={titleOf(run, 'p99')}
      x={timeline.map(({ t }) => t + 0.5)}
      log={wantsLog(lines)}
      format={ms}
      lines={lines}
      height={220}
      wide
    />
  );
}

/** Accepted beside rejected messages. */
function RefusalsChart({ run }: { run: Run }) {
  const { timeline } = run;
  if (timeline.length < 2) return null;
  return (
    <Chart
      {...overTime(run)}
      name="Accepted and rejected"
      unit="messages per second"
      title={titleOf(run, 'refusals')}
      x={timeline.map(({ t }) => t + 0.5)}
      format={count}
      whole
      lines={[
        { label: 'accepted', values: timeline.map(({ accepted }) => accepted), colour: 'blue' },
        {
          label: 'rejected',
          values: timeline.map(({ rejected }) => rejected),
          colour: 'orange',
          dash: 'dashed',
        },
      ]}
      height={220}
      wide
    />
  );
}

/** The backlog after a burst, and how it drained. */
function BurstChart({ run }: { run: Run }) {
  const { timeline } = run;
  if (timeline.length < 2) return null;
  return (
    <Chart
      {...overTime(run)}
      name="Burst and drain"
      unit="deliveries per second; the backlog behind them"
      axis="deliveries per second"
      title={titleOf(run, 'burst')}
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
        { label: 'due', values: timeline.map(({ due }) => due), colour: 'grey', dash: 'dashed' },
        { label: 'arrived', values: timeline.map(({ arrived }) => arrived), colour: 'blue' },
      ]}
      height={220}
      wide
    />
  );
}
