import type { Flow } from '../../contract/run.ts';
import { colourOf } from '../facts.ts';
import { count, ms } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Table } from '../table.tsx';

/** The mean of each stage in each flow; nothing where there is only one. */
export function StagesByFlow({ run }: PartProps) {
  const rows = run.flows.filter(({ stages }) => stages !== undefined);
  if (rows.length < 2) return null;
  const names = run.stages.map(({ name }) => name);
  return (
    <Table
      caption="Means of the stages by flow, ms; measured phases"
      columns={[
        { head: 'flow', text: true, cell: (flow: Flow) => flow.name },
        { head: 'deliveries', cell: (flow: Flow) => count(flow.stamped) },
        ...names.map((name) => ({
          head: (
            <>
              <i class="swatch" style={{ background: `var(--${colourOf(names, name)})` }} /> {name}
            </>
          ),
          cell: (flow: Flow) => ms(flow.stages?.[name]),
        })),
        { head: 'arrival', unit: 'all deliveries', cell: ({ arrival }: Flow) => ms(arrival.mean) },
      ]}
      rows={rows}
    />
  );
}
