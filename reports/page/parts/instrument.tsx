import type { Run } from '../../run.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-options.ts';
import { percentile, phaseSpans } from '../facts.ts';
import { count, figure, msUnit, plural } from '../format.ts';
import type { PartProps } from '../report.tsx';
import { Facts, Table } from '../table.tsx';

const COLOURS = ['blue', 'orange', 'magenta', 'cyan', 'violet', 'olive', 'grey'];
const DASHES = [undefined, 'dashed', 'dotted'] as const;

/** Whether the generator kept up, how well the clocks agree, what each process used. */
export function InstrumentSection({ run, sound }: PartProps) {
  const { resources } = run;
  return (
    <section>
      <h2>Instrument and resources</h2>
      <Facts facts={[...(sound ? lateness(run) : []), ...generator(run), ...clocks(run)]} />
      {resources.length > 0 && (
        <div class="beside">
          <Table
            caption="CPU in % of one core and resident memory in MB, one sample a second"
            columns={[
              { head: 'process', text: true, cell: (r) => r.process },
              { head: 'CPU mean', unit: '%', cell: (r) => figure(r.cpu_percent.mean) },
              { head: 'CPU max', unit: '%', cell: (r) => figure(r.cpu_percent.max) },
              { head: 'memory mean', unit: 'MB', cell: (r) => figure(r.rss_mb.mean) },
              { head: 'memory max', unit: 'MB', cell: (r) => figure(r.rss_mb.max) },
            ]}
            rows={resources}
          />
          <CpuChart run={run} />
        </div>
      )}
    </section>
  );
}

function lateness({ latency }: Run): [string, string][] {
  const { schedule } = latency.stages;
  if (schedule.count === 0) return [['lateness', 'not available']];
  return [
    [
      'lateness',
      `sent after it was due: p50 ${msUnit(percentile(schedule, 'p50'))}, p99 ${msUnit(percentile(schedule, 'p99'))}, max ${msUnit(schedule.max)} (${plural(schedule.count, 'delivery', 'deliveries')})`,
    ],
  ];
}

function generator({ account, timeline, run }: Run): [string, string][] {
  const known = timeline.flatMap((second) => (second.generator === null ? [] : [second.generator]));
  const cpu = known.flatMap((g) => (g.cpu_percent === null ? [] : [g.cpu_percent]));
  const rss = known.flatMap((g) => (g.rss_mb === null ? [] : [g.rss_mb]));
  const mean = cpu.reduce((sum, value) => sum + value, 0) / cpu.length;
  return [
    ['not sent', `${plural(account.dropped, 'message')} dropped by the generator`],
    [
      run.tool.name,
      cpu.length === 0
        ? 'CPU and memory not available'
        : `CPU mean ${figure(mean)} %, max ${figure(Math.max(...cpu))} % of one core; memory at most ${figure(rss.length ? Math.max(...rss) : null)} MB (${count(known.length)} samples)`,
    ],
  ];
}

function clocks({ clock }: Run): [string, string][] {
  if (clock === null) return [['clock', 'not probed yet']];
  const { reference, offset_ms, bound_ms, drift_ppm, probes } = clock;
  if (reference === 'monotonic')
    return [['clock', 'the generator’s own, monotonic: one process sends and receives']];
  return [
    [
      'clock',
      `${reference}: offset ${msUnit(offset_ms)} ± ${msUnit(bound_ms)}, drift ${figure(drift_ppm)} ppm (${plural(probes, 'probe')})`,
    ],
  ];
}

function CpuChart({ run }: { run: Run }) {
  const { resources } = run;
  const x = [...new Set(resources.flatMap((r) => r.series.map(([t]) => t)))].sort((a, b) => a - b);
  const busiest = resources
    .filter((r) => r.cpu_percent.max !== null)
    .sort((a, b) => (b.cpu_percent.max ?? 0) - (a.cpu_percent.max ?? 0))[0];
  return (
    <Chart
      title="CPU"
      unit="% of one core"
      note={
        busiest
          ? `Busiest: ${busiest.process.slice(0, 60)}, at most ${figure(busiest.cpu_percent.max)} %.`
          : ''
      }
      kind="time"
      x={x}
      phases={phaseSpans(run)}
      format={figure}
      lines={resources.map((resource, i): Line => {
        const known = new Map(resource.series.map(([t, cpu]) => [t, cpu]));
        const dash = DASHES[i % DASHES.length];
        return {
          label: resource.process.slice(0, 60),
          values: x.map((t) => known.get(t) ?? null),
          colour: COLOURS[i % COLOURS.length] ?? 'blue',
          ...(dash ? { dash } : {}),
        };
      })}
    />
  );
}
