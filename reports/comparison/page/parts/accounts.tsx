import { equation, said } from '../../../account.ts';
import { COUNTS, type Count, MISSED } from '../../../contract/run.ts';
import { count } from '../../../format.ts';
import { Table } from '../../../page/table.tsx';
import type { Subject } from '../../comparison.ts';
import type { PartProps } from '../part.ts';

type Line = [name: Count, of: (subject: Subject) => number];

/** Whether no run wants a count. */
const unwanted = (count: Count) => MISSED.some((end) => end === count);

/** The accounts where they differ; where they agree, one of them. */
export function AccountsSection({ comparison: { subjects } }: PartProps) {
  const lines: Line[] = COUNTS.map((name) => [name, ({ account }) => account[name] ?? 0]);
  const apart = lines.filter(([, of]) => new Set(subjects.map(of)).size > 1);
  const open = subjects.filter(({ account }) => !account.balanced).map(({ letter }) => letter);
  const [{ account }] = subjects as [Subject];
  return (
    <section class="few">
      <h2>Accounts</h2>
      {apart.length === 0 ? (
        <p>The accounts agree: {equation(account)}.</p>
      ) : (
        <Table
          caption={`Where the accounts differ, messages of the whole run${subjects.some(({ runs }) => runs.length > 1) ? '; repeats summed up' : ''}`}
          columns={[
            { head: 'end', text: true, cell: ([name]: Line) => said(name) },
            ...subjects.map((subject) => ({
              head: subject.letter,
              cell: ([name, of]: Line) => (
                <span class={unwanted(name) && of(subject) > 0 ? 'worry' : ''}>{count(of(subject))}</span>
              ),
            })),
          ]}
          rows={apart}
        />
      )}
      {open.length > 0 && <p class="worry">Does not balance: {open.join(', ')}.</p>}
    </section>
  );
}
