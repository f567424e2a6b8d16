import { Chart } from '../../../page/chart.tsx';
import { msValue } from '../../../page/chart-options.ts';
import { msUnit } from '../../../page/format.ts';
import type { Comparison, Curve } from '../../comparison.ts';
import { label } from '../../words.ts';
import type { PartProps } from '../page.tsx';
import { legend, look } from '../tell.ts';

/** The percentile curves over one another, and p99 over time. */
export function LatencySection({ comparison }: PartProps) {
  const { subjects, rows } = comparison;
  const p99 = rows.find(({ name }) => name === 'arrival.p99');
  const sentence = p99
    ? `${label(p99.name)}: ${subjects.map(({ letter }, i) => `${letter} ${msUnit(p99.values[i])}`).join(', ')}.`
    : '';
  const t = longest(subjects.map(({ timeline }) => timeline.t));
  return (
    <section>
      <h2>Latency</h2>
      <div class="charts">
        <Percentiles
          comparison={comparison}
          title="Arrival by percentile"
          of={(i) => subjects[i]?.arrival ?? []}
          note={sentence}
        />
        <Percentiles
          comparison={comparison}
          title="HTTP by percentile"
          of={(i) => subjects[i]?.http ?? []}
          note="From sending a request until its answer. Each line stops where its samples run out."
        />
        <Chart
          title="Arrival p99 over time"
          unit="ms, per second, logarithmic"
          note={
            subjects.some(({ runs }) => runs.length > 1)
              ? 'Of repeats the first run.'
              : 'Each second by itself.'
          }
          kind="time"
          x={t.map((second) => second + 0.5)}
          log
          height={240}
          format={msValue}
          lines={subjects.map((subject, i) => ({
            label: legend(subject),
            values: t.map((second) => positive(subject.timeline.p99[subject.timeline.t.indexOf(second)])),
            ...look(i),
          }))}
        />
        <Chart
          title="Arrival p50 over time"
          unit="ms, per second, logarithmic"
          note="Where the lines part is where the load told them apart."
          kind="time"
          x={t.map((second) => second + 0.5)}
          log
          height={240}
          format={msValue}
          lines={subjects.map((subject, i) => ({
            label: legend(subject),
            values: t.map((second) => positive(subject.timeline.p50[subject.timeline.t.indexOf(second)])),
            ...look(i),
          }))}
        />
      </div>
    </section>
  );
}

interface PercentilesProps {
  comparison: Comparison;
  title: string;
  note: string;
  of: (index: number) => Curve;
}

function Percentiles({ comparison: { subjects }, title, note, of }: PercentilesProps) {
  const x = [...new Set(subjects.flatMap((_, i) => of(i).map(([p]) => p)))].sort((a, b) => a - b);
  return (
    <Chart
      title={title}
      unit="ms, over percentile; both axes logarithmic"
      note={note}
      kind="percentile"
      x={x}
      log
      height={300}
      format={msValue}
      lines={subjects.map((subject, i) => {
        const known = new Map(of(i));
        return { label: legend(subject), values: x.map((p) => positive(known.get(p))), ...look(i) };
      })}
    />
  );
}

/** A logarithmic axis has no 0. */
function positive(ms: number | null | undefined): number | null {
  return ms != null && ms > 0 ? ms : null;
}

function longest(all: number[][]): number[] {
  return all.reduce((most, one) => (one.length > most.length ? one : most), []);
}
