import { Chart } from '../../../page/chart.tsx';
import { msValue } from '../../../page/chart-options.ts';
import { figure, msUnit, plural } from '../../../page/format.ts';
import { knee } from '../../../sweep.ts';
import type { StepSummary, Subject } from '../../comparison.ts';
import type { PartProps } from '../page.tsx';
import { legend, look } from '../tell.ts';

type Point = StepSummary & { vus: number };

/** Sweeps of concurrency over one another, each with its knee; nothing where fewer than two runs are one. */
export function SweepSection({ comparison: { subjects } }: PartProps) {
  const sweeps = subjects
    .map((subject, index) => ({ subject, index, points: pointsOf(subject) }))
    .filter(({ points }) => points.length > 1);
  if (sweeps.length < 2) return null;
  const knees = sweeps.map(
    ({ points }) => points[knee(points.map(({ arrival }) => arrival.p50)) ?? -1] ?? null,
  );
  const x = [...new Set(sweeps.flatMap(({ points }) => points.map(({ vus }) => vus)))].sort((a, b) => a - b);
  const lines = (value: (point: Point) => number | null) =>
    sweeps.map(({ subject, index, points }) => ({
      label: legend(subject),
      values: x.map((vus) => {
        const point = points.find((one) => one.vus === vus);
        return point === undefined ? null : value(point);
      }),
      ...look(index),
    }));
  const marks = knees.flatMap((at, i) =>
    at === null ? [] : [{ x: at.vus, name: `knee ${sweeps[i]?.subject.letter}` }],
  );
  const common = { kind: 'vus' as const, x, height: 280, marks };
  return (
    <section>
      <h2>Sweep of concurrency</h2>
      <div class="charts">
        <Chart
          {...common}
          title="Arrival p50 by concurrency"
          unit="ms, logarithmic"
          note={sweeps.map(({ subject }, i) => said(subject, knees[i] ?? null)).join(' ')}
          log
          format={msValue}
          lines={lines(({ arrival }) => arrival.p50)}
        />
        <Chart
          {...common}
          title="Requests by concurrency"
          unit="per second"
          note="What the ingest answered with so many VUs."
          format={figure}
          lines={lines(({ requests_per_s }) => requests_per_s)}
        />
      </div>
    </section>
  );
}

function pointsOf({ steps }: Subject): Point[] {
  return steps
    .filter((step): step is Point => step.measured && step.vus !== null && step.vus > 0)
    .sort((a, b) => a.vus - b.vus);
}

function said({ letter }: Subject, at: Point | null): string {
  return at === null
    ? `${letter} has no knee.`
    : `${letter}: knee at ${plural(at.vus, 'VU')}, arrival p50 ${msUnit(at.arrival.p50)} there.`;
}
