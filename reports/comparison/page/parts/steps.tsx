import { figure, ms } from '../../../format.ts';
import { type Column, Table } from '../../../page/table.tsx';
import type { Comparison, StepSummary } from '../../comparison.ts';
import { protocols } from '../../words.ts';
import type { PartProps } from '../part.ts';

interface StepRow {
  letter: string;
  step: StepSummary;
}

/** The phases side by side, each subject a row. */
export function StepsSection({ comparison }: PartProps) {
  const rows = sideBySide(comparison);
  if (rows.length === 0) return null;
  const protocol = protocols(comparison.subjects);
  const closed = comparison.subjects.some(({ model }) => model === 'closed');
  const columns: Column<StepRow>[] = [
    {
      head: 'phase',
      text: true,
      cell: ({ step }) => `${step.name}${step.measured ? '' : ' (not measured)'}`,
    },
    { head: 'run', text: true, cell: ({ letter }) => letter },
    ...(closed ? [{ head: 'VUs', cell: ({ step }: StepRow) => step.vus ?? '–' }] : []),
    { head: 'requests', unit: 'per second', cell: ({ step }) => figure(step.requests_per_s) },
    { head: 'arrived', unit: 'per second', cell: ({ step }) => figure(step.arrived_per_s) },
    { head: 'arrival p50', unit: 'ms', cell: ({ step }) => ms(step.arrival.p50) },
    { head: 'p95', unit: 'ms', cell: ({ step }) => ms(step.arrival.p95) },
    { head: 'p99', unit: 'ms', cell: ({ step }) => ms(step.arrival.p99) },
    { head: `${protocol} mean`, unit: 'ms', cell: ({ step }) => ms(step.http.mean) },
    { head: 'max', unit: 'ms', cell: ({ step }) => ms(step.http.max) },
    { head: 'min', unit: 'ms', cell: ({ step }) => ms(step.http.min) },
    { head: `${protocol} p50`, unit: 'ms', cell: ({ step }) => ms(step.http.p50) },
    { head: 'p99', unit: 'ms', cell: ({ step }) => ms(step.http.p99) },
  ];
  return (
    <section class="steps">
      <h2>Phases</h2>
      <Table caption="Each phase of the profile, one row for each run" columns={columns} rows={rows} />
    </section>
  );
}

/** Phases of the same place stand below one another. */
function sideBySide({ subjects }: Comparison): StepRow[] {
  const most = Math.max(...subjects.map(({ steps }) => steps.length));
  return Array.from({ length: most }, (_, i) =>
    subjects.flatMap(({ letter, steps }): StepRow[] => (steps[i] ? [{ letter, step: steps[i] }] : [])),
  ).flat();
}
