import type { Check, Gap, GeneratorResult, Run } from '../../contract/run.ts';
import { count, duration, figure, glued, ms, msUnit, plural, clock as time } from '../../format.ts';
import { Chart } from '../chart.tsx';
import { wantsLog } from '../chart-ranges.ts';
import { overTime, percentile } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Long, Table } from '../table.tsx';
import { Rules } from './rules.tsx';

/** Figures that the summary always shows; it shows others only if they exceed their limit. */
const ALWAYS = new Set(['lateness', 'CPU', 'canary', 'clock bound']);

/** The instrument's health in a line, for beside the verdict. */
export function InstrumentLine({ run }: PartProps) {
  const rows = run.facts.instrument.filter(({ what, ok }) => ALWAYS.has(what) || ok === false);
  return (
    <p class="health">
      <a href="#trust">Instrument</a>
      {rows.map(({ what, meaning, figure, limit, ok, doubts }) => (
        <span key={what} class={ok === false ? 'worry' : ''}>
          {ok !== null && `${ok ? '✓' : '✕'}\u00a0`}
          {what} {glued(figure)}
          <span class="limit">
            {limit === ''
              ? ` (${meaning})`
              : ` (${limit === 'none' ? 'allowed: none' : `limit ${glued(limit)}`})`}
          </span>
          {doubts && <span class="limit">, {doubts}</span>}
        </span>
      ))}
    </p>
  );
}

/** Whether the generator kept up, the rules, how well the clocks agree, when a subscriber was away. */
export function TrustSection({ run, sound }: PartProps) {
  const { gaps } = run.health;
  const { generators = [] } = run;
  return (
    <section id="trust">
      <h2>Trust</h2>
      {run.environment.shared_host && (
        <p class="aside">
          Generator and pipeline shared one host
          {run.environment.cores !== null && ` and its ${plural(run.environment.cores, 'core')}`}: part of
          every latency is their competition for it.
        </p>
      )}
      {sound && run.canary && run.canary.sent > 0 && (
        <p class="aside canary">
          The canary sends {canaryPace(run.canary.interval_s)} on a connection of its own. If it is as slow as
          the load, the pipeline is slow. If it is faster, the instrument is slow, or something that only the
          load’s connections share.
        </p>
      )}
      <Checks rows={run.facts.instrument} />
      {sound && run.canary && <CanaryChart run={run} />}
      {generators.length > 0 && <Generators rows={generators} />}
      <div class="beside">
        <div class="clocks">
          <Clocks run={run} />
        </div>
        <Rules run={run} sound={sound} />
      </div>
      {gaps.length > 0 && <Gaps gaps={gaps} />}
    </section>
  );
}

/** The interval between canary messages. */
function canaryPace(interval_s: number): string {
  return interval_s === 1 ? 'one message a second' : `one message every ${duration(interval_s)}`;
}

/** The canary beside the load, second by second. */
function CanaryChart({ run }: { run: Run }) {
  const { timeline, canary } = run;
  const lines = [
    {
      label: 'arrival p50',
      values: timeline.map(({ arrival }) => arrival && percentile(arrival, 'p50')),
      colour: 'p50',
    },
    {
      label: 'canary',
      values: timeline.map(({ canary_ms }) => canary_ms),
      colour: 'canary',
      dash: 'dashed' as const,
    },
  ];
  if (!canary || canary.arrived === 0) return null;
  return (
    <div class="charts">
      <Chart
        {...overTime(run)}
        name="Canary"
        unit={wantsLog(lines) ? 'ms, logarithmic' : 'ms'}
        title={`The slowest canary took ${msUnit(canary.latency.max)}`}
        x={timeline.map(({ t }) => t + 0.5)}
        log={wantsLog(lines)}
        format={ms}
        lines={lines}
      />
    </div>
  );
}

/** The instances that did the run together. */
function Generators({ rows }: { rows: GeneratorResult[] }) {
  const orUnknown = (value: number | null, text: (value: number) => string) =>
    value === null ? '–' : text(value);
  return (
    <Table
      caption="Generators: each did a segment of the run, and sent and received its own messages"
      columns={[
        { head: 'generator', text: true, cell: (g) => `${g.number}` },
        { head: 'segment', text: true, cell: (g) => g.segment },
        {
          head: 'result',
          text: true,
          cell: (g) => <span class={g.result === 'pass' ? '' : 'worry'}>{g.result}</span>,
        },
        { head: 'scheduled', unit: 'messages', cell: (g) => orUnknown(g.scheduled, count) },
        { head: 'arrived', unit: 'messages', cell: (g) => orUnknown(g.arrived, count) },
        { head: 'lateness p99', unit: 'ms', cell: (g) => orUnknown(g.schedule_p99_ms, ms) },
        { head: 'socket wait p99', unit: 'ms', cell: (g) => orUnknown(g.socket_wait_p99_ms, ms) },
        { head: 'CPU max', unit: '% of a core', cell: (g) => orUnknown(g.cpu_percent_max, figure) },
        { head: 'cores', cell: (g) => orUnknown(g.cores ?? null, count) },
        { head: 'kernel', text: true, cell: (g) => g.kernel ?? '–' },
        { head: 'late', unit: 'ms', cell: (g) => orUnknown(g.late_ms, ms) },
      ]}
      rows={rows}
    />
  );
}

function Checks({ rows }: { rows: Check[] }) {
  return (
    <div class="checks">
      <Table
        caption="Did the instrument keep up? Whole run; latencies of the measured phases"
        columns={[
          {
            head: 'figure',
            text: true,
            cell: (check) => (
              <>
                {check.what}
                <small>{check.meaning}</small>
              </>
            ),
          },
          { head: 'measured', text: true, cell: ({ figure, more }) => <Two one={figure} more={more} /> },
          {
            head: 'limit',
            text: true,
            cell: ({ limit, basis }) => <Two one={limit || '–'} more={basis} />,
          },
          {
            head: 'result',
            text: true,
            cell: (check) => (
              <>
                <Result {...check} />
                {check.doubts && <small>{check.doubts}</small>}
              </>
            ),
          },
        ]}
        rows={rows}
      />
    </div>
  );
}

function Two({ one, more }: { one: string; more: string }) {
  return (
    <>
      {glued(one)}
      {more && <small>{glued(more)}</small>}
    </>
  );
}

function Result({ ok, undecided }: Pick<Check, 'ok' | 'undecided'>) {
  if (ok === null) return <>{undecided ? 'undecided' : '–'}</>;
  return <span class={ok ? 'nowrap' : 'nowrap worry'}>{ok ? '✓ ok' : '✕ exceeded'}</span>;
}

function Clocks({ run: { clock, run, generators } }: { run: Run }) {
  if (clock === null) return <p class="small">Clock: not probed yet.</p>;
  if (clock.reference === 'monotonic') {
    return (
      <p class="small">
        Clock: the generator’s own, monotonic. One process sends and receives, so no clocks are compared.
      </p>
    );
  }
  const { reference, offset_ms, bound_ms, generator_bound_ms, limit_ms, drift_ppm, probes, processes } =
    clock;
  return (
    <>
      <Table
        caption={`Clocks: how far ${reference} is ahead of each process, and how well that is known`}
        columns={[
          { head: 'process', text: true, cell: (row) => row.process },
          { head: 'offset', unit: 'ms', cell: (row) => ms(row.offset_ms) },
          { head: 'bound', unit: '± ms', cell: (row) => ms(row.bound_ms) },
        ]}
        rows={[
          ...(generators?.map((g) => ({
            process: `${run.tool.name}-${g.number}`,
            offset_ms: g.clock_offset_ms,
            bound_ms: g.clock_bound_ms,
          })) ?? [{ process: run.tool.name, offset_ms, bound_ms: generator_bound_ms }]),
          ...processes,
        ]}
      />
      <p class="small">
        The clocks of two processes differ by {msUnit(bound_ms)} at most, the sum of the two widest bounds
        {limit_ms !== null && ` (limit ${msUnit(limit_ms)})`}. {run.tool.name} compared its clock{' '}
        {plural(probes, 'time')}
        {drift_ppm !== null && `; it drifted by ${figure(drift_ppm)} ppm`}.
      </p>
    </>
  );
}

function Gaps({ gaps }: { gaps: Gap[] }) {
  return (
    <Table
      caption="Gaps: when a subscriber had no connection"
      columns={[
        { head: 'subscriber', cell: (gap) => gap.subscriber },
        { head: 'from', cell: (gap) => time(gap.from_s) },
        {
          head: 'for',
          cell: (gap) => (gap.to_s === null ? 'never came back' : duration(gap.to_s - gap.from_s)),
        },
        { head: 'reason', text: true, cell: (gap) => <Long text={gap.reason} /> },
      ]}
      rows={gaps}
    />
  );
}
