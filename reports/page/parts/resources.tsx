import type { Run } from '../../run.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-options.ts';
import { gapSpans, phaseSpans } from '../facts.ts';
import { figure } from '../format.ts';
import type { PartProps } from '../report.tsx';
import { Table } from '../table.tsx';

const COLOURS = ['blue', 'orange', 'magenta', 'cyan', 'violet', 'olive', 'grey'];
const DASHES = [undefined, 'dashed', 'dotted'] as const;

/** What each process used. */
export function ResourcesSection({ run }: PartProps) {
  const { resources } = run;
  if (resources.length === 0) return null;
  return (
    <section>
      <h2>Resources</h2>
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
    </section>
  );
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
      gaps={gapSpans(run)}
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
