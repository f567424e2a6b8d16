import type { VNode } from 'preact';
import type { Probe, Run } from '../../contract/run.ts';
import { count, ms } from '../../format.ts';
import { Chart } from '../chart.tsx';
import { type Line, overOneAxis } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { styleOf } from '../chart-series.ts';
import { overTime, percentileOf, titleOf } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Ladder } from './ladder.tsx';
import { SweepCharts } from './sweep.tsx';

/** The chart that answers what the run asks: it shows what failed, or the latency beside its limit. */
export function Hero({ run, sound }: PartProps) {
  if (sound && run.facts.shape === 'sweep') return <SweepCharts run={run} />;
  const [first] = charts(run, sound);
  return first ? <div class="hero">{first}</div> : null;
}

/** The other charts of the run's question, below what became of the messages. */
export function FurtherCharts({ run, sound }: PartProps) {
  const further = sound && run.facts.shape === 'sweep' ? [] : charts(run, sound).slice(1);
  return further.length > 0 ? <div class="hero">{further}</div> : null;
}

/** The charts of a run's question, that of what failed first. Without a latency to show it is what arrived. */
function charts(run: Run, sound: boolean): VNode[] {
  const { titles, recovery } = run.facts;
  const all: VNode[] = [];
  if (!sound) return run.timeline.length < 2 ? [] : [<ArrivedChart key="arrived" run={run} />];
  if (run.probes) all.push(<SearchChart key="search" run={run} probes={run.probes} />);
  if (run.timeline.length < 2) return all;
  if (titles.refusals) all.push(<RefusalsChart key="refusals" run={run} />);
  if (titles.connections) all.push(<ConnectionsChart key="connections" run={run} />);
  if (recovery) all.push(<BurstChart key="burst" run={run} />);
  if (run.timeline.some(({ arrival }) => arrival !== null)) all.push(<LatencyChart key="p99" run={run} />);
  return all.length > 0 ? all : [<ArrivedChart key="arrived" run={run} />];
}

function SearchChart({ run, probes }: { run: Run; probes: Probe[] }) {
  return <Ladder probes={probes} title={titleOf(run, 'search')} limit={run.answer?.p99_limit_ms ?? null} />;
}

/** p99 second by second, or with few deliveries over several seconds, or the slowest, with the limit, over the load. */
function LatencyChart({ run }: { run: Run }) {
  const { timeline, answer } = run;
  const limit = answer?.p99_limit_ms ?? null;
  const over = run.facts.arrival_p99_over;
  const p99 = over?.ms ?? timeline.map(({ arrival }) => percentileOf(arrival, 'p99'));
  const few = p99.every((value) => value === null);
  const shown: Line = few
    ? { label: 'slowest', values: timeline.map(({ arrival }) => arrival?.max ?? null), colour: 'p99' }
    : { label: over ? `arrival p99 of ${over.window_s} s` : 'arrival p99', values: p99, colour: 'p99' };
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

/** What was due and what arrived. */
function ArrivedChart({ run }: { run: Run }) {
  const { timeline } = run;
  return (
    <Chart
      {...overTime(run)}
      name="Due and arrived"
      unit="deliveries per second"
      title={titleOf(run, 'deliveries')}
      x={timeline.map(({ t }) => t + 0.5)}
      format={count}
      whole
      lines={[
        { label: 'due', values: timeline.map(({ due }) => due), colour: 'grey', fill: true },
        { label: 'arrived', values: timeline.map(({ arrived }) => arrived), colour: 'blue' },
      ]}
      height={220}
      wide
    />
  );
}

/** The connections that each broker counted, with those of all publishers. */
function ConnectionsChart({ run }: { run: Run }) {
  const { connections } = run.facts;
  const costs = new Set(connections?.costs.map(({ process }) => process));
  const brokers = run.resources.filter(
    ({ process, figures }) => costs.has(process) && figures?.gauges.clients,
  );
  const { x, values } = overOneAxis(
    brokers.map(({ figures }) =>
      (figures?.t ?? []).map((t, i) => [t + 0.5, figures?.gauges.clients?.[i] ?? null]),
    ),
  );
  const wanted = connections?.brokers === 1 ? connections.wanted : null;
  return (
    <Chart
      {...overTime(run)}
      name="Connections"
      unit="open at the broker, with those of the pipeline and the instrument"
      axis="connections"
      title={titleOf(run, 'connections')}
      x={x}
      format={count}
      whole
      lines={[
        ...brokers.map(({ process }, i) => ({ label: process, values: values[i] ?? [], ...styleOf(i) })),
        ...(wanted === null
          ? []
          : [
              {
                label: 'wanted',
                values: x.map(() => wanted),
                colour: 'fail' as const,
                dash: 'dashed' as const,
              },
            ]),
      ]}
      height={220}
      wide
    />
  );
}

/** Accepted beside rejected messages. */
function RefusalsChart({ run }: { run: Run }) {
  const { timeline } = run;
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

/** The backlog after a burst, what waited before the ingest, and how both drained. */
function BurstChart({ run }: { run: Run }) {
  const { timeline } = run;
  const inFlight = timeline.map(({ in_flight }) => in_flight);
  const waiting: Line[] = inFlight.some((messages) => messages > 0)
    ? [{ label: 'in flight', values: inFlight, colour: 'violet', dash: 'dotted', behind: true }]
    : [];
  return (
    <Chart
      {...overTime(run)}
      name="Burst and drain"
      unit={`deliveries per second; the backlog${waiting.length > 0 ? ', and what waits for an answer,' : ''} behind them`}
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
        ...waiting,
        { label: 'due', values: timeline.map(({ due }) => due), colour: 'grey', dash: 'dashed' },
        { label: 'arrived', values: timeline.map(({ arrived }) => arrived), colour: 'blue' },
      ]}
      height={220}
      wide
    />
  );
}
