import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { count } from '../format.ts';

export interface Column<Row> {
  head: ComponentChildren;
  unit?: string;
  cell: (row: Row) => ComponentChildren;
  /** Words, to the left; numbers otherwise. */
  text?: boolean;
}

export interface SortableColumn<Row> extends Column<Row> {
  /** A click on the head of a long table sorts by this. */
  by?: (row: Row) => string | number | null;
}

/** The column that rows are sorted by. */
interface Order {
  column: number;
  descending: boolean;
}

interface TableProps<Row> {
  /** Unit, estimator and samples of the numbers. */
  caption: ComponentChildren;
  /** The first one heads its row. */
  columns: SortableColumn<Row>[];
  rows: Row[];
  /** One cell per column. */
  foot?: ComponentChildren[];
}

interface Sortable {
  order: Order | null;
  onSort: (column: number) => void;
}

interface ScrollProps {
  class: string;
  /** Its content: a name, or the id of one. */
  label: { 'aria-label': string } | { 'aria-labelledby': string };
  children: ComponentChildren;
}

/** A region that scrolls by itself where it is too large, and is then reached by keyboard too. */
function Scroll({ label, children, ...given }: ScrollProps) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    // Where there is more, its edge fades.
    const fade = () => {
      element.toggleAttribute('data-before', element.scrollLeft > 1);
      element.toggleAttribute(
        'data-after',
        element.scrollLeft + element.clientWidth < element.scrollWidth - 1,
      );
    };
    const sized = new ResizeObserver(() => {
      fade();
      const scrolls =
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
      if (scrolls) element.tabIndex = 0;
      else element.removeAttribute('tabindex');
    });
    sized.observe(element);
    if (element.firstElementChild) sized.observe(element.firstElementChild);
    element.addEventListener('scroll', fade, { passive: true });
    return () => {
      sized.disconnect();
      element.removeEventListener('scroll', fade);
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section would be a landmark, and a fieldset is for a form
    <div {...given} {...label} ref={host} role="group">
      {children}
    </div>
  );
}

/** A table that scrolls by itself where it is too wide. */
export function Table<Row>({
  caption,
  columns,
  rows,
  foot,
  order,
  onSort,
}: TableProps<Row> & Partial<Sortable>) {
  const id = useId();
  const sorted = order?.descending ? 'descending' : 'ascending';
  const side = (column: Column<Row> | undefined) => (column?.text ? 'text' : 'figure');
  return (
    <Scroll class="scroll" label={{ 'aria-labelledby': id }}>
      <table>
        <caption id={id}>
          <span>{caption}</span>
        </caption>
        <thead>
          <tr>
            {columns.map((column, i) => (
              <th
                key={i}
                scope="col"
                class={side(column)}
                aria-sort={order?.column === i ? sorted : undefined}
              >
                {column.by && onSort ? (
                  <button type="button" class="sort" onClick={() => onSort(i)}>
                    {column.head}
                  </button>
                ) : (
                  column.head
                )}
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
    </Scroll>
  );
}

/** Rows of a long table that are there at once, unless it says how many. */
const FIRST_ROWS = 40;

/**
 * A table whose first rows are shown, and all of them on demand. A click on a head sorts them, the largest numbers first.
 * @param what they are, in the plural
 */
export function LongTable<Row>({
  what,
  first = FIRST_ROWS,
  ...given
}: TableProps<Row> & { what: string; first?: number }) {
  const [open, setOpen] = useState(false);
  const [order, setOrder] = useState<Order | null>(null);
  const { caption, columns } = given;
  const rows = inOrder(given.rows, columns, order);
  const onSort = (column: number) => {
    const descending = order?.column === column ? !order.descending : !columns[column]?.text;
    setOrder({ column, descending });
  };
  const table = { ...given, rows, order, onSort };
  if (rows.length <= first) return <Table {...table} />;
  return (
    <>
      <Table
        {...table}
        caption={
          <>
            {caption}; the first {first} of {count(rows.length)} {what}
          </>
        }
        rows={rows.slice(0, first)}
      />
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          All {count(rows.length)} {what}
        </summary>
        {open && <Table {...table} />}
      </details>
    </>
  );
}

/** Sorts ids as a reader expects: 9 before 10. */
const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Rows by a column; what is not known comes last. */
function inOrder<Row>(rows: Row[], columns: SortableColumn<Row>[], order: Order | null): Row[] {
  const by = order === null ? undefined : columns[order.column]?.by;
  if (order === null || by === undefined) return rows;
  const sign = order.descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ascending =
      typeof a === 'number' && typeof b === 'number' ? a - b : COLLATOR.compare(`${a}`, `${b}`);
    return sign * ascending;
  });
}

/** Characters that a text begins with. */
const FIRST_CHARACTERS = 400;

/** A text of any length: of a long one the beginning is shown, and all of it on demand; on paper it says where the rest is. */
export function Long({ text, code = false }: { text: string; code?: boolean }) {
  const Text = code ? 'code' : 'span';
  const characters = [...text];
  if (characters.length <= FIRST_CHARACTERS) return <Text>{text}</Text>;
  const all = `${count(characters.length)} characters`;
  return (
    <details class="long">
      <summary>
        <Text class="start">{characters.slice(0, FIRST_CHARACTERS).join('')}… </Text>
        <span class="screen">show all {all}</span>
        <span class="paper">({all}: run.json has all of them)</span>
      </summary>
      <Scroll class="all" label={{ 'aria-label': `All ${all}` }}>
        <Text>{text}</Text>
      </Scroll>
    </details>
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
