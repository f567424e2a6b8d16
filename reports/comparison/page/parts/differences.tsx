import { type Column, Table } from '../../../page/table.tsx';
import type { Difference, Row } from '../../comparison.ts';
import { change, label, range, unit, value } from '../../words.ts';
import { columnsOf } from '../columns.tsx';
import type { PartProps } from '../part.ts';

/** Every measure of every subject; how far each is from the baseline, and what that warrants. */
export function DifferencesSection({ comparison }: PartProps) {
  const { subjects, rows } = comparison;
  const from = [
    ...new Set(rows.flatMap(({ differences }) => differences.flatMap((d) => d?.interval?.from ?? []))),
  ];
  const shown = rows.filter(({ name }) => !/^(schedule|request|ingest|queue|relay|delivery)\./.test(name));
  const reach = widest(rows);
  const columns: Column<Row>[] = [
    {
      head: 'measure',
      text: true,
      cell: (row) => (
        <>
          {label(row.name)} <span class="unit">{unit(row)}</span>
        </>
      ),
    },
    ...columnsOf(subjects, {
      value: (row: Row, i) => value(row, row.values[i] ?? null),
      difference: (row, i) => row.differences[i] ?? null,
      change: (difference) => <Change difference={difference} reach={reach} />,
    }),
  ];
  return (
    <section>
      <h2>Differences</h2>
      <div class="differences">
        <Table
          caption={`Measured phases; of repeats the geometric mean${from.length > 0 ? `. Intervals of 99 % from ${from.join('; ')}` : ''}`}
          columns={columns}
          rows={shown}
        />
      </div>
      <p class="small">
        A word stands where the whole interval is more than 1 % away from no difference; “no difference seen”
        says that the interval reaches that far, not that there is none.{' '}
        {shown.some((row) => row.differences.some((one) => one?.word === 'survivors only')) &&
          '“Survivors only”: the better figure is that of a run in which messages failed, and those would have been its slowest. '}
        {from.some((one) => one.includes('blocks')) &&
          'Blocks of one run cannot know how much one run differs from the next: repeats do. '}
        {reasons(shown).map(([reason, names]) => `No interval of ${names.join(', ')}: ${reason}. `)}
      </p>
    </section>
  );
}

/** Why there is no interval, and of what. */
function reasons(rows: Row[]): [reason: string, names: string[]][] {
  const all = new Map<string, string[]>();
  for (const { name, differences } of rows) {
    for (const why of new Set(differences.flatMap((difference) => difference?.why ?? []))) {
      all.set(why, [...(all.get(why) ?? []), label(name)]);
    }
  }
  return [...all];
}

function Change({ difference, reach }: { difference: Difference | null; reach: number }) {
  if (difference === null) return <>–</>;
  const { relative, interval } = difference;
  return (
    <span class="change">
      {interval !== null && <Bar low={interval.low} high={interval.high} reach={reach} />}
      <span>
        {change(relative)}
        {interval !== null && <small>{range(difference)}</small>}
      </span>
    </span>
  );
}

/** The interval as a bar beside the line of no difference; the figures say the same. */
function Bar({ low, high, reach }: { low: number; high: number; reach: number }) {
  const at = (share: number) => 50 + 50 * Math.max(-1, Math.min(1, share / reach));
  return (
    <span class="interval" aria-hidden="true">
      <i style={{ left: `${at(low)}%`, width: `${Math.max(2, at(high) - at(low))}%` }} />
    </span>
  );
}

/** The scale of the bars: the widest interval, and 5 % at least. */
function widest(rows: Row[]): number {
  return rows
    .flatMap(({ differences }) => differences.flatMap((one) => one?.interval ?? []))
    .reduce((most, { low, high }) => Math.max(most, Math.abs(low), Math.abs(high)), 0.05);
}
