import { useState } from 'preact/hooks';
import type { Brief, Flow, Run, TargetFigures } from '../../contract/run.ts';
import { count, figure, glued, ms, plural } from '../../format.ts';
import { percentile } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { type Column, Table } from '../table.tsx';
import { hasMessages, MessageTables } from './messages.tsx';

/** Targets that are shown before the reader asks for more. */
const FIRST = 10;
/** Characters of a name. */
const LONGEST = 120;

/** Each flow of the profile, the targets that their messages went to, and messages by id. */
export function FlowsSection({ run, sound }: PartProps) {
  const { flows, targets } = run;
  if (flows.length === 0 && !hasMessages(run)) return null;
  return (
    <section class="flows" id="flows">
      <h2>Flows and messages</h2>
      {flows.length > 0 && <Flows run={run} sound={sound} />}
      {targets && <Targets run={run} sound={sound} />}
      <MessageTables run={run} sound={sound} />
    </section>
  );
}

function Flows({ run: { flows, run }, sound }: PartProps) {
  const plan = (flow: Flow) => run.profile.flows[flows.indexOf(flow)];
  return (
    <Table
      caption="Flows, over the measured phases"
      columns={[
        { head: 'flow', text: true, cell: (flow) => flow.name },
        { head: 'weight', cell: (flow) => figure(plan(flow)?.weight) },
        { head: 'messages', unit: 'per request', cell: (flow) => count(plan(flow)?.messages) },
        { head: 'deliveries', unit: 'per message', cell: (flow) => count(plan(flow)?.deliveries) },
        ...(run.profile.flows.some(({ payload_bytes }) => payload_bytes !== undefined)
          ? [{ head: 'payload', unit: 'bytes', cell: (flow: Flow) => count(plan(flow)?.payload_bytes) }]
          : []),
        { head: 'scheduled', unit: 'messages', cell: (flow) => count(flow.scheduled) },
        { head: 'arrived', unit: 'deliveries', cell: (flow) => count(flow.arrived) },
        ...(sound
          ? [
              { head: 'samples', unit: 'deliveries', cell: (flow: Flow) => count(flow.arrival.count) },
              ...arrivalColumns(({ arrival }: Flow) => arrival),
            ]
          : []),
      ]}
      rows={flows}
    />
  );
}

/** An arrival latency, ms. */
function arrivalColumns<Row>(of: (row: Row) => Brief | null): Column<Row>[] {
  const column = (head: string, value: (brief: Brief) => number | null): Column<Row> => ({
    head,
    unit: 'ms',
    cell: (row) => {
      const brief = of(row);
      return ms(brief && value(brief));
    },
  });
  return [
    column('arrival mean', ({ mean }) => mean),
    column('p50', (brief) => percentile(brief, 'p50')),
    column('p99', (brief) => percentile(brief, 'p99')),
    column('max', ({ max }) => max),
  ];
}

interface Row extends TargetFigures {
  name: string;
}

function Targets({ run, sound }: PartProps) {
  const [open, setOpen] = useState(false);
  const { rows, others, total } = run.targets as NonNullable<Run['targets']>;
  const arrived = ({ arrival }: Row) => arrival?.count ?? 0;
  const ordered = [...rows].sort((a, b) => b.lost - a.lost || (sound ? 0 : arrived(b) - arrived(a)));
  const together: Row[] = others ? [{ ...others, name: plural(others.targets, 'other') }] : [];
  const more = ordered.length - FIRST;
  return (
    <div class="targets">
      <h3>Targets</h3>
      <p class="small">{glued(run.facts.targets)}</p>
      <TargetTable
        caption={`${more > 0 ? `The first ${FIRST} of ${count(total)} targets` : 'Targets'}: those that lost messages, then ${sound ? 'the highest p99' : 'the busiest'}. Arrival: measured phases; reordered and lost: whole run`}
        rows={more > 0 ? ordered.slice(0, FIRST) : [...ordered, ...together]}
        sound={sound}
      />
      {more > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>
            {others
              ? `${count(ordered.length)} notable targets (most lost, slowest, busiest), and the rest as one row`
              : `All ${count(ordered.length)} targets`}
          </summary>
          {open && <TargetTable caption="Targets" rows={[...ordered, ...together]} sound={sound} />}
        </details>
      )}
    </div>
  );
}

function TargetTable({ caption, rows, sound }: { caption: string; rows: Row[]; sound: boolean }) {
  return (
    <Table
      caption={caption}
      columns={[
        { head: 'target', text: true, cell: (row) => short(row.name) },
        { head: 'arrived', unit: 'deliveries', cell: (row) => count(row.arrival?.count ?? 0) },
        { head: 'reordered', unit: 'deliveries', cell: (row) => count(row.reordered) },
        {
          head: 'lost',
          unit: 'messages',
          cell: (row) => <span class={row.lost > 0 ? 'worry' : ''}>{count(row.lost)}</span>,
        },
        ...(sound ? arrivalColumns(({ arrival }: Row) => arrival) : []),
      ]}
      rows={rows}
    />
  );
}

function short(name: string): string {
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
}
