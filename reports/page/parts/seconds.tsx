import { useState } from 'preact/hooks';
import type { Interval } from '../../contract/run.ts';
import { clock, count, ms } from '../../format.ts';
import { percentileOf } from '../facts.ts';
import { Table } from '../table.tsx';

interface SecondsProps {
  timeline: Interval[];
  sound: boolean;
  canary: boolean;
}

/** Rows of the table; of a longer run it shows one second in so many. */
const MOST_SECONDS = 600;

/** The charts as a table, made when it is opened. */
export function Seconds({ timeline, sound, canary }: SecondsProps) {
  const [open, setOpen] = useState(false);
  const step = Math.ceil(timeline.length / MOST_SECONDS);
  const rows = open ? timeline.filter((_, i) => i % step === 0) : [];
  const messages = (head: string, key: 'scheduled' | 'sent' | 'accepted' | 'rejected' | 'failed') => ({
    head,
    unit: 'messages',
    cell: (row: Interval) => count(row[key]),
  });
  const deliveries = (key: 'due' | 'arrived' | 'backlog') => ({
    head: key,
    unit: 'deliveries',
    cell: (row: Interval) => count(row[key]),
  });
  const latencies: [string, (row: Interval) => number | null][] = [
    ['mean', (row) => row.arrival?.mean ?? null],
    ['p50', (row) => percentileOf(row.arrival, 'p50')],
    ['p95', (row) => percentileOf(row.arrival, 'p95')],
    ['p99', (row) => percentileOf(row.arrival, 'p99')],
    ['max', (row) => row.arrival?.max ?? null],
  ];
  return (
    <details class="seconds" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Every second as a table</summary>
      {open && (
        <Table
          caption={`One row a second${step > 1 ? `, one second in ${step}: the download has all` : ''}${sound ? '; latencies of the deliveries that arrived in it' : ''}`}
          columns={[
            { head: 'time', text: true, cell: (row) => clock(row.t) },
            { head: 'phase', text: true, cell: (row) => row.phase ?? '–' },
            messages('scheduled', 'scheduled'),
            messages('sent', 'sent'),
            messages('accepted', 'accepted'),
            messages('rejected', 'rejected'),
            messages('unknown', 'failed'),
            deliveries('due'),
            deliveries('arrived'),
            deliveries('backlog'),
            ...(sound ? latencies : []).map(([head, value]) => ({
              head,
              unit: 'arrival, ms',
              cell: (row: Interval) => ms(value(row)),
            })),
            ...(sound && canary
              ? [{ head: 'canary', unit: 'due here, ms', cell: (row: Interval) => ms(row.canary_ms) }]
              : []),
          ]}
          rows={rows}
        />
      )}
    </details>
  );
}
