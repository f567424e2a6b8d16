import type { Resource, Run, Totals } from '../../contract/run.ts';
import { count, figure } from '../../format.ts';
import { Chart } from '../chart.tsx';
import { overOneAxis } from '../chart-data.ts';
import { styleOf } from '../chart-series.ts';
import { overTime } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';

const HOST = 'host';

/** CPU and memory of each process, and what the host had left. */
export function ResourcesSection({ run }: PartProps) {
  const { resources } = run;
  const used = resources.filter(({ series }) => series.length > 0);
  // The host has charts of its own: beside its use no process would be seen.
  const processes = used.filter(({ process }) => process !== HOST);
  const host = resources.find(({ process, figures }) => process === HOST && figures != null);
  if (resources.length === 0) return null;
  return (
    <section class="resources" id="resources">
      <h2>Resources</h2>
      <Table
        caption="CPU and memory (resident, of a process), one sample a second"
        columns={[
          {
            head: 'process',
            text: true,
            cell: (r) =>
              r.process === HOST ? 'host (all cores, interrupts included; memory in use)' : r.process,
          },
          { head: 'CPU mean', unit: '% of a core', cell: (r) => figure(r.cpu_percent?.mean) },
          { head: 'CPU max', unit: '% of a core', cell: (r) => figure(r.cpu_percent?.max) },
          { head: 'memory mean', unit: 'MB', cell: (r) => figure(r.rss_mb?.mean) },
          { head: 'memory max', unit: 'MB', cell: (r) => figure(r.rss_mb?.max) },
        ]}
        rows={used}
      />
      <div class="charts">
        <UsageChart run={run} used={processes} name="CPU" unit="% of one core" column={1} />
        <UsageChart run={run} used={processes} name="Memory" unit="MB resident" column={2} />
        {host && <HostCpuChart run={run} host={host} />}
        {host && <SwitchesChart run={run} host={host} />}
      </div>
      {host === undefined && (
        <p class="small">The host’s figures are not available: only a pipeline on Linux has them (vmstat).</p>
      )}
      <Metrics rows={run.facts.resources.totals} />
    </section>
  );
}

interface UsageProps {
  run: Run;
  used: Resource[];
  name: string;
  unit: string;
  column: 1 | 2;
}

function UsageChart({ run, used, name, unit, column }: UsageProps) {
  const { x, values } = overOneAxis(
    used.map(({ series }) => series.map((row) => [row[0] + 0.5, row[column]])),
  );
  const { most_cpu, most_memory } = run.facts.resources;
  const most = column === 1 ? most_cpu : most_memory;
  return (
    <Chart
      {...overTime(run)}
      name={name}
      unit={unit}
      title={
        most
          ? `${most.process.slice(0, 60)} used most: up to ${figure(most.max)}\u00a0${unit}`
          : 'How much was used is not known'
      }
      x={x}
      format={figure}
      lines={used.map(({ process }, i) => ({
        label: process.slice(0, 60),
        values: values[i] ?? [],
        ...styleOf(i),
      }))}
    />
  );
}

function HostCpuChart({ run, host }: { run: Run; host: Resource }) {
  const gauges = host.figures?.gauges ?? {};
  const { idle_mean_percent: mean = null, idle_least_percent: least = null } = run.facts.host ?? {};
  return (
    <Chart
      {...overTime(run)}
      name="Host: what its cores did"
      unit="% of all cores, stacked; the rest is idle"
      title={
        mean !== null
          ? `The host was ${figure(mean)}\u00a0% idle on average, minimum ${figure(least)}\u00a0%`
          : 'How idle the host was is not known'
      }
      x={middles(host)}
      stacked
      format={figure}
      lines={[
        { label: 'user (us)', values: gauges.us ?? [], colour: 'blue' },
        { label: 'system (sy)', values: gauges.sy ?? [], colour: 'orange' },
        { label: 'waiting for disk (wa)', values: gauges.wa ?? [], colour: 'magenta' },
        { label: 'stolen (st)', values: gauges.st ?? [], colour: 'grey' },
      ]}
    />
  );
}

function SwitchesChart({ run, host }: { run: Run; host: Resource }) {
  const gauges = host.figures?.gauges ?? {};
  const { switches_max_per_s: switches = null, swapped = false } = run.facts.host ?? {};
  return (
    <Chart
      {...overTime(run)}
      name="Host: context switches and interrupts"
      unit="per second"
      title={`${switches !== null ? `Up to ${count(switches)} context switches a second; the` : 'The'} host ${swapped ? 'swapped' : 'did not swap'}`}
      x={middles(host)}
      format={count}
      lines={[
        { label: 'context switches (cs)', values: gauges.cs ?? [], colour: 'blue' },
        { label: 'interrupts (in)', values: gauges.in ?? [], colour: 'orange', dash: 'dashed' },
      ]}
    />
  );
}

/** The middles of the bins, as the other charts over time have them. */
function middles({ figures }: Resource): number[] {
  return figures?.t.map((t) => t + figures.bin_s / 2) ?? [];
}

/** The units of vmstat's columns. */
const VMSTAT: Record<string, string> = {
  ...{ r: 'processes', b: 'processes', in: 'a second', cs: 'a second', si: 'KB/s', so: 'KB/s' },
  ...Object.fromEntries(['us', 'sy', 'id', 'wa', 'st'].map((name) => [name, '% of all cores'])),
};
/** The units of figures by the end of their names. */
const UNITS: [end: string, unit: string][] = [
  ['_per_s', 'a second'],
  ['_ms', 'ms'],
  ['_mb', 'MB'],
  ['_bytes', 'bytes'],
];

/** The unit of a figure; empty if it is just a number of things. */
function unitOf({ process, name }: Totals): string {
  const known = process === HOST ? VMSTAT[name] : undefined;
  return known ?? UNITS.find(([end]) => name.endsWith(end))?.[1] ?? '';
}

/** Counters and gauges of processes, servers and the host. */
function Metrics({ rows }: { rows: Totals[] }) {
  if (rows.length === 0) return null;
  return (
    <details class="metrics">
      <summary>Process metrics</summary>
      <Table
        caption="Over the whole run: the sum of a count, the mean of a gauge"
        columns={[
          { head: 'process', text: true, cell: (row) => row.process },
          { head: 'figure', text: true, cell: (row) => row.name },
          { head: 'unit', text: true, cell: unitOf },
          { head: 'count', cell: ({ sum }) => (sum === null ? '–' : count(sum)) },
          { head: 'mean', cell: ({ mean }) => figure(mean) },
          { head: 'highest', cell: ({ max }) => figure(max) },
        ]}
        rows={rows}
      />
    </details>
  );
}
