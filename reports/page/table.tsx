import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface Column<Row> {
  head: ComponentChildren;
  unit?: string;
  cell: (row: Row) => ComponentChildren;
  /** Words, to the left; numbers otherwise. */
  text?: boolean;
}

interface TableProps<Row> {
  /** Unit, estimator and samples of the numbers. */
  caption: ComponentChildren;
  /** The first one heads its row. */
  columns: Column<Row>[];
  rows: Row[];
  /** One cell per column. */
  foot?: ComponentChildren[];
}

/** A table that scrolls by itself where it is too wide. */
export function Table<Row>({ caption, columns, rows, foot }: TableProps<Row>) {
  const id = useId();
  const side = (column: Column<Row> | undefined) => (column?.text ? 'text' : 'figure');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="scroll" tabIndex={0} aria-labelledby={id}>
      <table>
        <caption id={id}>
          <span>{caption}</span>
        </caption>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th key={i} scope="col" class={side(column)}>
                {column.head}
                {column.unit && <span class="unit">{column.unit}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, r) => (
            <tr key={r}>
              {columns.map((column, i) =>
                i === 0 ? (
                  <th key={i} scope="row" class={side(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={i} class={side(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>
              {foot.map((cell, i) => (
                <td key={i} class={side(columns[i])}>
                  {cell}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}

/** Names and what they are, in two columns. */
export function Facts({ facts }: { facts: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
