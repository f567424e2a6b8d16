import type { Interval, Run } from '../../contract/run.ts';
import { count, figure, ms } from '../../format.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { measuredSeconds, overTime, percentileOf, protocolOf, titleOf } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Phases } from './phases.tsx';
import { Seconds } from './seconds.tsx';

/** s from which on a chart on a small screen has several seconds in one place. */
const LONG = 120;

/** Offered load, carried load and latency, second by second. */
export function TimelineSection({ run, sound }: PartProps) {
  const { timeline } = run;
  const common = { ...overTime(run), x: timeline.map((second) => second.t + 0.5) };
  const column = (value: (second: Interval) => number | null) => timeline.map(value);
  /** A line of what most runs have none of. */
  const seldom = (key: 'rejected' | 'failed', line: Omit<Line, 'values'>): Line[] =>
    timeline.some((second) => second[key] > 0) ? [{ ...line, values: column((s) => s[key]) }] : [];
  /** What the charts of counts share. @param key of their title */
  const counts = (key: string) => ({ ...common, title: titleOf(run, key), format: count, whole: true });
  const closed = run.run.model === 'closed';
  const latency: Line[] = [
    { label: 'p50', values: column((s) => percentileOf(s.arrival, 'p50')), colour: 'p50', dash: 'dotted' },
    { label: 'p95', values: column((s) => percentileOf(s.arrival, 'p95')), colour: 'p95', dash: 'dashed' },
    { label: 'p99', values: column((s) => percentileOf(s.arrival, 'p99')), colour: 'p99' },
    { label: 'max', values: column((s) => s.arrival?.max ?? null), colour: 'muted', dash: 'dotted' },
  ];
  const log = wantsLog(latency);
  const http: Line[] = [
    { label: 'p50', values: column((s) => percentileOf(s.http, 'p50')), colour: 'p50', dash: 'dotted' },
    { label: 'p99', values: column((s) => percentileOf(s.http, 'p99')), colour: 'p99' },
  ];
  const heat = timeline.map(({ t, arrival_bins = null }) => ({ start: t, end: t + 1, bins: arrival_bins }));
  return (
    <section id="time">
      <h2>Over time</h2>
      <p class="small">
        One value a second. A message with five subscribers is one message and five deliveries. Phases that
        are not measured are shaded, and so is the drain after the load.{' '}
        {run.health.gaps.length > 0 && 'Red: a subscriber had no connection. '}
        {run.run.ended === null && 'The last second may be cut off. '}
        {timeline.length > LONG &&
          'Where several seconds share a place, a line is their mean, and the band around it reaches from their least to their most. '}
        <span class="screen">
          Drag over a chart to zoom all charts over time; double-click shows everything. By keyboard, left and
          right move the cursor, down goes to the lines and the table, + and − zoom, 0 shows everything.
        </span>
      </p>
      {timeline.length > 0 && (
        <div class="charts">
          <Chart
            {...counts('messages')}
            name="Messages"
            unit="per second"
            axis="messages per second"
            lines={[
              ...(closed
                ? []
                : [{ label: 'scheduled', values: column((s) => s.scheduled), colour: 'grey', fill: true }]),
              { label: 'accepted', values: column((s) => s.accepted), colour: 'blue' },
              ...seldom('rejected', { label: 'rejected', colour: 'orange', dash: 'dashed' }),
              ...seldom('failed', { label: 'unknown', colour: 'magenta', dash: 'dotted' }),
            ]}
          />
          <Chart
            {...counts('deliveries')}
            name="Deliveries"
            unit="per second; due: deliveries owed for accepted messages"
            axis="deliveries per second"
            lines={[
              { label: 'due', values: column((s) => s.due), colour: 'grey', fill: true },
              { label: 'arrived', values: column((s) => s.arrived), colour: 'blue' },
            ]}
          />
          <Chart
            {...counts('backlog')}
            name="Backlog"
            unit="deliveries due and not arrived, at the end of each second"
            axis="deliveries"
            lines={[{ label: 'backlog', values: column((s) => s.backlog), colour: 'orange', fill: true }]}
          />
          <Chart
            {...counts('in_flight')}
            name="In flight"
            unit="messages sent and not answered, at the end of each second"
            axis="messages"
            lines={[{ label: 'in flight', values: column((s) => s.in_flight), colour: 'violet', fill: true }]}
          />
          {timeline.some(({ arrived_bytes = 0 }) => arrived_bytes > 0) && (
            <PayloadChart run={run} common={common} />
          )}
          {sound && (
            <Chart
              {...common}
              name="Arrival latency"
              unit={log ? 'ms, logarithmic' : 'ms'}
              title={titleOf(run, 'arrival')}
              log={log}
              format={ms}
              lines={latency}
            />
          )}
          {sound && heat.some(({ bins }) => bins !== null) && (
            <Chart
              {...common}
              name="Arrival latency, all deliveries"
              unit="ms, logarithmic; stronger colour: more deliveries"
              title={titleOf(run, 'heat')}
              heat={heat}
              format={ms}
              lines={[
                {
                  label: 'p50',
                  values: column((s) => percentileOf(s.arrival, 'p50')),
                  colour: 'ink',
                  dash: 'dashed',
                },
                { label: 'p99', values: column((s) => percentileOf(s.arrival, 'p99')), colour: 'ink' },
              ]}
            />
          )}
          {sound && http.some(({ values }) => values.some((value) => value !== null)) && (
            <Chart
              {...common}
              name={`${protocolOf(run)} latency`}
              unit={wantsLog(http) ? 'ms, logarithmic' : 'ms'}
              title={titleOf(run, 'http')}
              log={wantsLog(http)}
              format={ms}
              lines={http}
            />
          )}
        </div>
      )}
      {timeline.length > 0 && <Seconds timeline={timeline} sound={sound} canary={run.canary !== null} />}
      <Phases run={run} sound={sound} />
    </section>
  );
}

/** What the arrived messages weigh. */
function PayloadChart({ run, common }: { run: Run; common: ReturnType<typeof overTime> & { x: number[] } }) {
  const { timeline } = run;
  // The unit is that of the title, which is about the measured seconds.
  const large = measuredSeconds(run).some(({ arrived_bytes = 0 }) => arrived_bytes >= 1e6);
  const [size, unit] = large ? [1e6, 'MB'] : [1e3, 'kB'];
  return (
    <Chart
      {...common}
      name="Payload"
      unit={`${unit} per second that arrived`}
      axis={`${unit} per second`}
      title={titleOf(run, 'payload')}
      format={figure}
      lines={[
        {
          label: 'arrived',
          values: timeline.map(({ arrived_bytes = 0 }) => arrived_bytes / size),
          colour: 'blue',
          fill: true,
        },
      ]}
    />
  );
}
