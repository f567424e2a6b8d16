import { ENDS } from '../../../contract/run.ts';
import { count } from '../../../page/format.ts';
import { Table } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import type { PartProps } from '../part.ts';

type Line = [name: string, of: (subject: Subject) => number];

const BESIDE = ['duplicates', 'reordered', 'negative', 'foreign'] as const;
/** Ends that no run wants. */
const BAD = new Set(['lost', 'dead_lettered', 'rejected', 'unknown', 'dropped', 'queued']);

/** The accounts side by side. */
export function AccountsSection({ comparison: { subjects } }: PartProps) {
  const ends: Line[] = ENDS.filter(
    (end) => end !== 'pending' || subjects.some(({ account }) => account[end] > 0),
  ).map((end) => [end.replace('_', '-'), ({ account }) => account[end]]);
  const beside: Line[] = BESIDE.map((name) => [name, ({ account }) => account[name]]);
  const columns = (head: string) => [
    { head, text: true, cell: ([name]: Line) => name },
    ...subjects.map((subject) => ({
      head: subject.letter,
      cell: ([name, of]: Line) => (
        <span class={BAD.has(name.replace('-', '_')) && of(subject) > 0 ? 'worry' : ''}>
          {count(of(subject))}
        </span>
      ),
    })),
  ];
  return (
    <section>
      <h2>Accounts</h2>
      <div class="beside">
        <Table
          caption={`Whole run${subjects.some(({ runs }) => runs.length > 1) ? '; repeats summed up' : ''}`}
          columns={columns('messages')}
          rows={ends}
          foot={['scheduled', ...subjects.map((subject) => scheduled(subject))]}
        />
        <Table caption="Beside the equation" columns={columns('deliveries')} rows={beside} />
      </div>
    </section>
  );
}

function scheduled({ account }: Subject) {
  return account.balanced ? (
    count(account.scheduled)
  ) : (
    <span class="worry">{count(account.scheduled)}: does not balance</span>
  );
}
