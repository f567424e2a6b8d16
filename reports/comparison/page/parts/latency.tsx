import { clock, ms, msUnit } from '../../../format.ts';
import { Chart } from '../../../page/chart.tsx';
import { overOneAxis } from '../../../page/chart-data.ts';
import { styleOf } from '../../../page/chart-series.ts';
import type { Comparison, Curve } from '../../comparison.ts';
import { label, legend, protocols } from '../../words.ts';
import type { PartProps } from '../part.ts';

/** The percentile curves over one another, and percentiles over time. */
export function LatencySection({ comparison }: PartProps) {
  const { subjects } = comparison;
  if (subjects.every(({ arrival }) => arrival.length === 0)) return null;
  return (
    <section>
      <h2>Latency</h2>
      <div class="charts">
        <Percentiles
          comparison={comparison}
          name="Arrival by percentile"
          of={(i) => subjects[i]?.arrival ?? []}
          title={p99sOf(comparison, 'arrival.p99')}
        />
        <Percentiles
          comparison={comparison}
          name={`${protocols(subjects)} by percentile`}
          of={(i) => subjects[i]?.http ?? []}
          title={p99sOf(comparison, 'http.p99')}
        />
        <OverTime comparison={comparison} percentile="p99" />
        <OverTime comparison={comparison} percentile="p50" />
      </div>
    </section>
  );
}

/** What a figure is of each subject. */
function p99sOf({ subjects, rows }: Comparison, name: string): string {
  const row = rows.find((one) => one.name === name);
  const figures = subjects.map(({ letter }, i) => `${letter} ${msUnit(row?.values[i])}`);
  const what = label(name, subjects).replace('arrival', 'Arrival');
  return `${what}: ${figures.join(', ')}`;
}

interface OverTimeProps {
  comparison: Comparison;
  percentile: 'p50' | 'p99';
}

function OverTime({ comparison: { subjects }, percentile }: OverTimeProps) {
  const { x, values } = overOneAxis(
    subjects.map(({ timeline: { t, ...of } }) => t.map((at, i) => [at + 0.5, positive(of[percentile][i])])),
  );
  const worst = subjects.flatMap(({ letter, timeline }) => {
    const highest = peakOf(timeline[percentile]);
    return highest === null
      ? []
      : [`${letter} ${msUnit(highest.value)} at ${clock(timeline.t[highest.at] ?? 0)}`];
  });
  const note = subjects.some(({ runs }) => runs.length > 1)
    ? { note: 'Of repeats the first run that counts.' }
    : {};
  return (
    <Chart
      name={`Arrival ${percentile} over time`}
      unit="ms, each second by itself, logarithmic"
      title={`The worst second’s ${percentile}: ${worst.join(', ')}`}
      {...note}
      kind="time"
      x={x}
      log
      height={240}
      format={ms}
      lines={subjects.map((subject, i) => ({
        label: legend(subject),
        values: values[i] ?? [],
        ...styleOf(i),
      }))}
    />
  );
}

/** The highest value and where it stands. */
function peakOf(values: (number | null)[]): { value: number; at: number } | null {
  return values.reduce<{ value: number; at: number } | null>(
    (best, value, at) => (value !== null && value > (best?.value ?? 0) ? { value, at } : best),
    null,
  );
}

interface PercentilesProps {
  comparison: Comparison;
  name: string;
  title: string;
  of: (index: number) => Curve;
}

function Percentiles({ comparison: { subjects }, name, title, of }: PercentilesProps) {
  const { x, values } = overOneAxis(subjects.map((_, i) => of(i)));
  return (
    <Chart
      name={name}
      unit="ms, logarithmic; 90, 99, 99.9 % … are equally far apart"
      title={title}
      kind="percentile"
      x={x}
      log
      height={300}
      format={ms}
      lines={subjects.map((subject, i) => ({
        label: legend(subject),
        values: values[i] ?? [],
        ...styleOf(i),
      }))}
    />
  );
}

/** A logarithmic axis has no 0. */
function positive(ms: number | null | undefined): number | null {
  return ms != null && ms > 0 ? ms : null;
}
