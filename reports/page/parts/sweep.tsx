import type { Run, Step } from '../../contract/run.ts';
import { figure, ms } from '../../format.ts';
import { sweepSteps } from '../../sweep.ts';
import { Chart } from '../chart.tsx';
import { type Line, overOneAxis } from '../chart-data.ts';
import { percentile, protocolOf, titleOf } from '../facts.ts';

type SweepStep = Step & { vus: number };

/** Concurrency against latency and throughput, with the knee. */
export function SweepCharts({ run }: { run: Run }) {
  const steps = sweepSteps(run);
  const marks = run.knee?.vus ? [{ x: run.knee.vus, name: 'knee' }] : [];
  return (
    <div class="sweep">
      <div class="charts">
        <LatencyChart run={run} steps={steps} marks={marks} />
        <ThroughputChart run={run} steps={steps} marks={marks} />
      </div>
      <p class="small">
        The knee is the last concurrency before arrival p50 stays high: with more VUs it is always above 5
        times the lowest p50 of the sweep.
      </p>
    </div>
  );
}

interface SweepChartProps {
  run: Run;
  steps: SweepStep[];
  marks: { x: number; name: string }[];
}

function LatencyChart({ run, steps, marks }: SweepChartProps) {
  const line = (
    label: string,
    style: Pick<Line, 'colour' | 'dash'>,
    value: (step: SweepStep) => number | null,
  ): Line => ({
    label,
    ...style,
    values: steps.map(value),
  });
  return (
    <Chart
      name="Latency by concurrency"
      unit="ms, logarithmic"
      title={titleOf(run, 'latency_by_vus')}
      kind="vus"
      x={steps.map(({ vus }) => vus)}
      log
      height={280}
      marks={marks}
      format={ms}
      lines={[
        line('arrival p50', { colour: 'blue' }, ({ latency }) => percentile(latency.arrival, 'p50')),
        line('arrival p99', { colour: 'p99', dash: 'dashed' }, ({ latency }) =>
          percentile(latency.arrival, 'p99'),
        ),
        line(
          `${protocolOf(run)} mean`,
          { colour: 'orange', dash: 'dotted' },
          ({ latency }) => latency.http.mean,
        ),
      ]}
    />
  );
}

function ThroughputChart({ run, steps, marks }: SweepChartProps) {
  const { x, values } = overOneAxis([
    steps.map((step) => [step.vus, step.carried_per_s] as const),
    steps.map((step) => [step.vus, step.scheduled_per_s] as const),
    run.facts.usl?.points ?? [],
  ]);
  const [arrived = [], sent = [], fit = []] = values;
  return (
    <Chart
      name="Throughput by concurrency"
      unit="messages per second"
      title={titleOf(run, 'throughput_by_vus')}
      note={titleOf(run, 'usl')}
      kind="vus"
      x={x}
      height={280}
      marks={marks}
      format={figure}
      lines={[
        { label: 'accepted and arrived', colour: 'blue', values: arrived },
        { label: 'sent', colour: 'violet', dash: 'dotted' as const, values: sent },
        ...(run.facts.usl
          ? [
              {
                label: 'USL fit',
                colour: 'muted',
                dash: 'dashed' as const,
                smooth: true,
                values: fit,
              },
            ]
          : []),
      ]}
    />
  );
}
