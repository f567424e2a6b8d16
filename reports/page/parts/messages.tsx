import { type Messages, STAGES, type Stage } from '../../contract/run.ts';
import { count, ms } from '../format.ts';
import type { PartProps } from '../part.ts';
import { LongTable } from '../table.tsx';

type Slow = Messages['slowest'][number];
type Named = Messages['named'][number];

const ENDS: Record<Named['end'], string> = {
  lost: 'lost',
  rejected: 'rejected',
  unknown: 'unknown',
  dead_lettered: 'dead-lettered',
  queued: 'queued',
  duplicates: 'duplicate',
  negative: 'negative',
};

/** Messages by id: the slowest deliveries with their stages, and what ended badly. */
export function MessagesSection({ run, sound }: PartProps) {
  const { messages } = run;
  if (!messages || messages.slowest.length + messages.named.length === 0) return null;
  return (
    <section class="messages" id="messages">
      <h2>Messages</h2>
      {sound && messages.slowest.length > 0 && <Slowest slowest={messages.slowest} />}
      {messages.named.length > 0 && <Ends named={messages.named} />}
    </section>
  );
}

function Slowest({ slowest }: { slowest: Slow[] }) {
  const longest = slowest[0]?.arrival_ms || 1;
  return (
    <>
      <h3>The slowest deliveries</h3>
      <LongTable
        what="deliveries"
        caption="Of the measured phases, and the slowest ten of each phase and flow; a bar is as long as its arrival latency, by stage"
        columns={[
          { head: 'id', text: true, cell: ({ id }) => <code class="id">{id}</code> },
          { head: 'arrival', unit: 'ms', cell: ({ arrival_ms }) => ms(arrival_ms) },
          { head: 'stages', text: true, cell: (row) => <Bar row={row} longest={longest} /> },
          { head: 'longest stage', text: true, cell: longestStage },
          { head: 'due', unit: 'UTC', cell: ({ due }) => timeOf(due) },
          { head: 'phase', text: true, cell: ({ phase }) => phase },
          { head: 'flow', text: true, cell: ({ flow }) => flow },
          { head: 'target', text: true, cell: ({ target }) => target },
          { head: 'subscriber', cell: ({ subscriber }) => count(subscriber) },
        ]}
        rows={slowest}
      />
    </>
  );
}

function Ends({ named }: { named: Named[] }) {
  return (
    <>
      <h3>What ended badly</h3>
      <LongTable
        what="messages"
        caption="The first hundred of each end"
        columns={[
          { head: 'id', text: true, cell: ({ id }) => <code class="id">{id}</code> },
          { head: 'end', text: true, cell: ({ end }) => ENDS[end] },
          { head: 'due', unit: 'UTC', cell: ({ due }) => (due === null ? 'not known' : timeOf(due)) },
          { head: 'phase', text: true, cell: ({ phase }) => phase ?? 'not known' },
          { head: 'flow', text: true, cell: ({ flow }) => flow },
          { head: 'target', text: true, cell: ({ target }) => target },
          {
            head: 'delivered',
            unit: 'subscribers',
            cell: ({ delivered }) => (delivered === null ? '–' : count(delivered)),
          },
        ]}
        rows={named}
      />
    </>
  );
}

function longestStage({ stages_ms }: Slow): string {
  const known = Object.entries(stages_ms).sort(([, a], [, b]) => b - a);
  const [first] = known;
  return first === undefined ? 'not known' : `${first[0]}, ${ms(first[1])} ms`;
}

function Bar({ row: { stages_ms, arrival_ms }, longest }: { row: Slow; longest: number }) {
  const width = (part: number) => `${Math.max(0, (100 * part) / longest)}%`;
  const known = STAGES.filter((stage: Stage) => stages_ms[stage] !== undefined);
  return (
    <span class="stack" aria-hidden="true">
      {known.length < 2 ? (
        <i style={{ width: width(arrival_ms) }} />
      ) : (
        known.map((stage) => (
          <i key={stage} style={{ width: width(stages_ms[stage] ?? 0), background: `var(--${stage})` }} />
        ))
      )}
    </span>
  );
}

/** Time of day to the millisecond. */
function timeOf(instant: string): string {
  return instant.slice(11, 23);
}
