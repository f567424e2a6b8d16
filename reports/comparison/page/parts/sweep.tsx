import { figure, ms, plural } from '../../../format.ts';
import { Chart } from '../../../page/chart.tsx';
import { overOneAxis } from '../../../page/chart-data.ts';
import { styleOf } from '../../../page/chart-series.ts';
import { type Point, pointsOf, turns } from '../../knees.ts';
import { legend } from '../../words.ts';
import type { PartProps } from '../part.ts';

/** Sweeps of concurrency over one another, each with its knee; nothing where fewer than two runs are one. */
export function SweepSection({ comparison: { subjects } }: PartProps) {
  const sweeps = subjects
    .map((subject, index) => ({ subject, index, points: pointsOf(subject) }))
    .filter(({ points }) => points.length > 0);
  if (sweeps.length < 2) return null;
  const over = (value: (point: Point) => number | null) => {
    const { x, values } = overOneAxis(sweeps.map(({ points }) => points.map((p) => [p.vus, value(p)])));
    const lines = sweeps.map(({ subject, index }, i) => ({
      label: legend(subject),
      values: values[i] ?? [],
      ...styleOf(index),
    }));
    return { x, lines };
  };
  const knees = new Map<number, string[]>();
  for (const { subject } of sweeps) {
    if (subject.knee && subject.knee.vus > 0)
      knees.set(subject.knee.vus, [...(knees.get(subject.knee.vus) ?? []), subject.letter]);
  }
  const marks = [...knees].map(([x, letters]) => ({ x, name: `knee ${letters.join(', ')}` }));
  const most = sweeps.map(({ subject: { letter }, points }) => {
    const highest = Math.max(...points.map(({ carried_per_s }) => carried_per_s ?? 0));
    return `${letter} ${figure(highest)}`;
  });
  const at = sweeps.map(({ subject: { letter, knee } }) => {
    if (!knee) return `${letter} has ${knee === null ? 'none' : 'one that is not known'}`;
    return knee.vus > 0
      ? `${letter} at ${plural(knee.vus, 'VU')}`
      : `${letter} below ${plural(knee.next, 'VU')}`;
  });
  const common = { kind: 'vus' as const, height: 280, marks };
  return (
    <section>
      <h2>Sweep of concurrency</h2>
      <ul class="knees">
        {turns(subjects).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <div class="charts">
        <Chart
          {...common}
          name="Arrival p50 by concurrency"
          unit="ms, logarithmic"
          title={`Knees: ${at.join(', ')}`}
          note="A knee is the last concurrency before arrival p50 stays high."
          log
          format={ms}
          {...over(({ arrival }) => arrival.p50)}
        />
        <Chart
          {...common}
          name="Throughput by concurrency"
          unit="per second"
          axis="messages per second"
          title={`Most messages/s accepted and arrived: ${most.join(', ')}`}
          format={figure}
          {...over(({ carried_per_s }) => carried_per_s)}
        />
      </div>
    </section>
  );
}
