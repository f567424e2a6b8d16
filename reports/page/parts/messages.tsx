import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { said } from '../../account.ts';
import type { Messages, Run } from '../../contract/run.ts';
import { count, ms } from '../../format.ts';
import { colourOf } from '../facts.ts';
import type { PartProps } from '../part.ts';
import { LongTable, type SortableColumn } from '../table.tsx';

/** Rows of each table that are shown before the reader asks for more. */
const FIRST = 12;

type Slow = Messages['slowest'][number];
type Named = Messages['named'][number];

/** The end of a message, or the kind of a delivery, as a word. */
const KINDS: Partial<Record<Named['end'], string>> = {
  duplicates: 'duplicate',
  misdeliveries: 'misdelivery',
};
const endOf = ({ end }: Named) => KINDS[end] ?? said(end);

/** Columns that both tables share. */
type Message = Pick<Named, 'id' | 'due' | 'phase' | 'flow' | 'target' | 'trace'>;

const ID: SortableColumn<Message> = {
  head: 'id',
  text: true,
  by: ({ id }) => id,
  cell: ({ id }) => <Id id={id} />,
};

const ABOUT: SortableColumn<Message>[] = [
  {
    head: 'due',
    unit: 'UTC',
    by: ({ due }) => due,
    cell: ({ due }) => (due === null ? 'not known' : timeOf(due)),
  },
  { head: 'phase', text: true, by: ({ phase }) => phase, cell: ({ phase }) => phase ?? 'not known' },
  { head: 'flow', text: true, by: ({ flow }) => flow, cell: ({ flow }) => flow },
  { head: 'target', text: true, by: ({ target }) => target, cell: ({ target }) => target },
];

/** The trace of a message; the whole of it is in traces.otlp.json. */
function traceOf(rows: Message[]): SortableColumn<Message>[] {
  if (rows.every(({ trace }) => trace === undefined)) return [];
  return [
    { head: 'trace', text: true, cell: ({ trace }) => (trace ? <code class="trace">{trace}</code> : '–') },
  ];
}

export function hasMessages({ messages }: Run): boolean {
  return (messages?.slowest.length ?? 0) + (messages?.named.length ?? 0) > 0;
}

/** Messages by id: the slowest deliveries with their stages, and what ended badly. */
export function MessageTables({ run, sound }: PartProps) {
  const { messages } = run;
  if (!messages || !hasMessages(run)) return null;
  return (
    <div class="messages" id="messages">
      {sound && messages.slowest.length > 0 && (
        <Slowest slowest={messages.slowest} names={run.stages.map(({ name }) => name)} />
      )}
      {messages.named.length > 0 && <Ends named={messages.named} />}
    </div>
  );
}

function Slowest({ slowest, names }: { slowest: Slow[]; names: string[] }) {
  const most = slowest[0]?.arrival_ms || 1;
  return (
    <>
      <h3>The slowest deliveries</h3>
      <LongTable
        what="deliveries"
        first={FIRST}
        caption="The slowest of the measured phases, and the slowest ten of each phase and flow. A bar shows the arrival latency by stage"
        columns={[
          ID,
          {
            head: 'arrival',
            unit: 'ms',
            by: ({ arrival_ms }) => arrival_ms,
            cell: ({ arrival_ms }) => ms(arrival_ms),
          },
          { head: 'stages', text: true, cell: (row) => <Bar row={row} most={most} names={names} /> },
          {
            head: 'longest stage',
            text: true,
            by: ({ longest }) => longest?.stage ?? null,
            cell: longestStage,
          },
          ...ABOUT,
          {
            head: 'subscriber',
            by: ({ subscriber }) => subscriber,
            cell: ({ subscriber }) => count(subscriber),
          },
          ...traceOf(slowest),
        ]}
        rows={slowest}
      />
    </>
  );
}

function Ends({ named }: { named: Named[] }) {
  return (
    <>
      <h3>Messages that did not arrive</h3>
      <LongTable
        what="messages"
        first={FIRST}
        caption="The first hundred of each end"
        columns={[
          ID,
          { head: 'end', text: true, by: endOf, cell: endOf },
          ...ABOUT,
          ...cameTo(named),
          {
            head: 'delivered',
            unit: 'subscribers',
            by: ({ delivered }) => delivered,
            cell: ({ delivered }) => (delivered === null ? '–' : count(delivered)),
          },
          ...traceOf(named),
        ]}
        rows={named}
      />
    </>
  );
}

/** The column with the target that a misdelivery came to. */
function cameTo(rows: Named[]): SortableColumn<Named>[] {
  if (rows.every(({ came_to }) => came_to === undefined)) return [];
  return [
    { head: 'came to', text: true, by: (row) => row.came_to ?? null, cell: (row) => row.came_to ?? '–' },
  ];
}

/** An id, and a button that copies it. */
export function Id({ id }: { id: string }) {
  const [copied, setCopied] = useState<string | null>(null);
  const copy = async ({ currentTarget: button }: { currentTarget: Element }) => {
    try {
      await navigator.clipboard.writeText(id);
      setCopied(id);
    } catch {
      // No clipboard, as on a page by plain HTTP: a key copies what is selected.
      const code = button.previousElementSibling;
      if (code) getSelection()?.selectAllChildren(code);
    }
  };
  // The ids of a table are one stop of the keyboard: up and down go from one to the next.
  const own = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const [first] = siblings(own.current);
    if (own.current) own.current.tabIndex = first === undefined || first === own.current ? 0 : -1;
  });
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = siblings(own.current);
    const next = step === undefined ? undefined : all[all.indexOf(own.current as HTMLElement) + step];
    next?.focus();
    if (next) event.preventDefault();
  };
  const word = copied === id ? 'copied' : 'copy';
  return (
    <>
      <code class="id">{id}</code>{' '}
      <button
        type="button"
        class="copy screen"
        ref={own}
        aria-label={`${word} ${id}`}
        onClick={copy}
        onKeyDown={move}
      >
        {word}
      </button>
    </>
  );
}

/** The buttons that copy ids in the table of one of them. */
function siblings(button: HTMLElement | null): HTMLElement[] {
  return [...(button?.closest('tbody')?.querySelectorAll<HTMLElement>('.copy') ?? [])];
}

function longestStage({ longest }: Slow): string {
  return longest === null ? 'not known' : `${longest.stage}, ${ms(longest.ms)} ms`;
}

function Bar({ row: { stages_ms, arrival_ms }, most, names }: { row: Slow; most: number; names: string[] }) {
  const width = (part: number) => `${Math.max(0, (100 * part) / most)}%`;
  const known = names.filter((stage) => stages_ms[stage] !== undefined);
  return (
    <span class="stack" aria-hidden="true">
      {known.length < 2 ? (
        <i style={{ width: width(arrival_ms) }} />
      ) : (
        known.map((stage) => (
          <i
            key={stage}
            style={{ width: width(stages_ms[stage] ?? 0), background: `var(--${colourOf(names, stage)})` }}
          />
        ))
      )}
    </span>
  );
}

/** Time of day to the millisecond. */
function timeOf(instant: string): string {
  return instant.slice(11, 23);
}
