import { Table } from '../../../page/table.tsx';
import type { PartProps } from '../part.ts';

/** What else was different: a difference of latency may come from there. */
export function EnvironmentSection({ comparison: { subjects, environment } }: PartProps) {
  return (
    <section>
      <h2>Environment</h2>
      {environment.length === 0 ? (
        <p>The runs say the same of their machine and software.</p>
      ) : (
        <Table
          caption="Facts in which the runs differ: what is compared includes them"
          columns={[
            { head: 'fact', text: true, cell: ({ name }) => name },
            ...subjects.map(({ letter }, i) => ({
              head: letter,
              text: true,
              cell: ({ values }: (typeof environment)[number]) => values[i] ?? '–',
            })),
          ]}
          rows={environment}
        />
      )}
    </section>
  );
}
