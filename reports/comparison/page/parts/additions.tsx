import { Table } from '../../../page/table.tsx';
import type { PartProps } from '../part.ts';

/** Additions of the program that compares: for two tools, whether they agree. */
export function AdditionsSection({ comparison: { additions = [] } }: PartProps) {
  return (
    <>
      {additions.map(({ title, caption, head, rows, notes }) => (
        <section key={title}>
          <h2>{title}</h2>
          {rows.length > 0 && (
            <Table
              caption={caption}
              columns={head.map((name, i) => ({
                head: name,
                text: i === 0,
                cell: (row: string[]) => row[i],
              }))}
              rows={rows}
            />
          )}
          {notes.map((note) => (
            <p class="small" key={note}>
              {note}
            </p>
          ))}
        </section>
      ))}
    </>
  );
}
