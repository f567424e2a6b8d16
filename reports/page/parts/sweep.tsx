import type { Run, Step } from '../../contract/run.ts';
import { carried, sweepSteps } from '../../sweep.ts';
import { fitUsl, type Usl } from '../../usl.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-data.ts';
import { percentile, protocolOf } from '../facts.ts';
import { count, exactly, figure, ms, msUnit, percent, plural, significant } from '../format.ts';

/** Points of the fitted curve between two steps. */
const BETWEEN = 8;
/** The fit is believed up to this multiple of the last step. */
const BEYOND = 2;

type SweepStep = Step & { vus: number };

/** Concurrency against latency and throughput, with the knee. */
export function SweepCharts({ run }: { run: Run }) {
  const steps = sweepSteps(run);
  const marks = run.knee?.vus ? [{ x: run.knee.vus, name: 'knee' }] : [];
  return (
    <div class="sweep">
      <div class="charts">
        <LatencyChart run={run} steps={steps} marks={marks} />
        <ThroughputChart steps={steps} marks={marks} />
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
      title={latencyTitle(run, steps)}
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

function latencyTitle({ knee }: Run, steps: SweepStep[]): string {
  const most = plural(steps.at(-1)?.vus ?? 0, 'VU');
  if (knee === undefined) return `Up to ${most}`; // an earlier version did not look for the knee
  const p50 = (vus: number) => msUnit(steps.find((step) => step.vus === vus)?.latency.arrival.p50 ?? null);
  if (knee === null) return `No knee: up to ${most} arrival p50 did not take off`;
  if (knee.vus === 0)
    return `The knee is below ${plural(knee.next, 'VU')}: a backlog already grows, and arrival p50 is ${p50(knee.next)}${knee.stage === '' ? '' : `; ${knee.stage} takes longest`}`;
  return `Knee at ${plural(knee.vus, 'VU')}: arrival p50 is ${p50(knee.vus)} there and ${p50(knee.next)} with ${count(knee.next)}${knee.stage === '' ? '' : `; ${knee.stage} grows most`}`;
}

function ThroughputChart({ steps, marks }: Omit<SweepChartProps, 'run'>) {
  const usl = fitUsl(steps.map((step) => [step.vus, carried(step)]));
  const measured = new Map(steps.map((step) => [step.vus, step]));
  const x = usl ? grid(steps) : steps.map(({ vus }) => vus);
  const at = (value: (step: SweepStep) => number | null) =>
    x.map((vus) => {
      const step = measured.get(vus);
      return step === undefined ? null : value(step);
    });
  const best = steps.reduce((a, b) => (carried(b) > carried(a) ? b : a));
  return (
    <Chart
      name="Throughput by concurrency"
      unit="messages per second"
      title={`At most ${figure(carried(best))} messages/s accepted and arrived, with ${plural(best.vus, 'VU')}`}
      note={fitNote(steps, usl)}
      kind="vus"
      x={x}
      height={280}
      marks={marks}
      format={figure}
      lines={[
        { label: 'accepted and arrived', colour: 'blue', values: at(carried) },
        {
          label: 'sent',
          colour: 'violet',
          dash: 'dotted' as const,
          values: at((step) => step.scheduled_per_s),
        },
        ...(usl
          ? [
              {
                label: 'USL fit',
                colour: 'muted',
                dash: 'dashed' as const,
                smooth: true,
                values: x.map((n) => usl.at(n)),
              },
            ]
          : []),
      ]}
    />
  );
}

/** The steps' concurrencies, and points between them for a smooth curve. */
function grid(steps: SweepStep[]): number[] {
  return [...new Set(steps.map(({ vus }) => vus))].flatMap((vus, i, all) => {
    const before = all[i - 1];
    if (before === undefined) return [vus];
    return Array.from({ length: BETWEEN }, (_, k) => before + ((vus - before) * (k + 1)) / BETWEEN);
  });
}

function fitNote(steps: SweepStep[], usl: Usl | null): string {
  if (usl === null) return 'Too few steps for a fit of the Universal Scalability Law.';
  const last = steps.at(-1)?.vus ?? 0;
  const peak =
    usl.peak !== null && usl.peak <= BEYOND * last ? `, peak at ${plural(Math.round(usl.peak), 'VU')}` : '';
  return `Universal Scalability Law: contention ${percent(usl.sigma)}, coherency ${significant(usl.kappa, 2)}${peak} (R² ${exactly(usl.r2, 3)}).`;
}
