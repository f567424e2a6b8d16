import type { ComponentChildren } from 'preact';
import type { Column } from '../../page/table.tsx';
import type { Difference, Subject } from '../comparison.ts';

/** The words that tell of a direction, and whether it is the one that is wished for. */
const TONES: Partial<Record<Difference['word'], string>> = { slower: 'worse', faster: 'better' };

interface Cells<Row> {
  unit?: string;
  value: (row: Row, i: number) => ComponentChildren;
  difference: (row: Row, i: number) => Difference | null;
  change: (difference: Difference | null) => ComponentChildren;
}

/** A column of each subject's values; of those that can be compared also how far they are from the baseline's, and what that warrants. */
export function columnsOf<Row>(
  subjects: Subject[],
  { unit, value, difference, change }: Cells<Row>,
): Column<Row>[] {
  return subjects.flatMap(({ letter, obstacle }, i): Column<Row>[] => [
    { head: letter, ...(unit && { unit }), cell: (row) => value(row, i) },
    ...(i === 0 || obstacle !== null
      ? []
      : [
          {
            head: `${letter} against A`,
            unit: '99 % interval',
            cell: (row: Row) => change(difference(row, i)),
          },
          { head: 'finding', text: true, cell: (row: Row) => <Finding difference={difference(row, i)} /> },
        ]),
  ]);
}

function Finding({ difference }: { difference: Difference | null }) {
  if (difference === null) return <>–</>;
  return <span class={TONES[difference.word] ?? ''}>{difference.word}</span>;
}
