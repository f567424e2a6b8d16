import { type Column, Table } from '../../../page/table.tsx';
import { type Comparison, type Difference, MARGIN, type Row, type Subject } from '../../comparison.ts';
import { rowsOf, withoutTable } from '../../outcome.ts';
import {
  changeOf,
  detail,
  finding,
  label,
  origins,
  range,
  ratioOf,
  short,
  unit,
  value,
} from '../../words.ts';
import { type Axis, axisOf, placeOf } from '../axis.ts';
import type { PartProps } from '../part.ts';

/** How far each figure is from the baseline's, decided ones first; a table for each other subject, all with one axis. */
export function DifferencesSection({ comparison }: PartProps) {
  const { subjects, rows } = comparison;
  const axis = axisOf(rows.flatMap(({ differences }) => differences.flatMap((one) => one ?? [])));
  const [, ...others] = subjects;
  const refused = others.map(({ letter, obstacle }, k) =>
    obstacle === null ? withoutTable(comparison, k + 1) : `${letter}: ${obstacle}`,
  );
  const compared = refused.includes(null);
  return (
    <section class="differences">
      <h2>Differences</h2>
      {others.map((subject, k) =>
        refused[k] === null ? (
          <Against key={subject.letter} comparison={comparison} index={k + 1} axis={axis} />
        ) : (
          <p key={subject.letter}>{refused[k]}.</p>
        ),
      )}
      {compared && <Notes rows={rows} />}
    </section>
  );
}

/** What the words of the findings mean. */
function Notes({ rows }: Pick<Comparison, 'rows'>) {
  return (
    <p class="small">
      Worse and better: the whole 99 % interval lies more than {MARGIN.latency * 100} % from ×1, the baseline;
      of shares {MARGIN.share * 100} percentage points. Of rates and shares, better is higher. Undecided is
      not equal: a difference may have been missed.
      {rows.some((row) => row.differences.some((one) => one?.interval?.from.includes('blocks'))) &&
        ' Blocks of one run cannot show how much runs differ: repeats do.'}
    </p>
  );
}

interface AgainstProps {
  comparison: Comparison;
  index: number;
  axis: Axis;
}

function Against({ comparison: { subjects, rows }, index, axis }: AgainstProps) {
  const [baseline, subject] = [subjects[0], subjects[index]] as [Subject, Subject];
  const of = ({ differences }: Row) => differences[index] ?? null;
  const columns: Column<Row>[] = [
    {
      head: 'measure',
      text: true,
      cell: (row) => (
        <>
          {label(row.name, subjects)}
          <small>
            {value(row, row.values[0] ?? null)} → {value(row, row.values[index] ?? null)} {unit(row)}
          </small>
        </>
      ),
    },
    {
      head: <Scale axis={axis} />,
      cell: (row) => <Ratio difference={of(row)} axis={axis} />,
    },
    {
      head: 'ratio',
      cell: (row) => (
        <>
          {ratioOf(of(row), row.kind)}
          <small>{range(of(row), row.kind)}</small>
          {row.kind === 'latency' && of(row) !== null && <small>{changeOf(of(row), row.kind)} ms</small>}
        </>
      ),
    },
    {
      head: 'finding',
      text: true,
      cell: (row) => (
        <>
          <span class={toneOf(of(row))}>{finding(of(row))}</span>
          <small>{detail(of(row), row.kind)}</small>
        </>
      ),
    },
  ];
  return (
    <>
      <Table
        caption={`${subject.letter} (${short(subject.title)}) against ${baseline.letter} (${short(baseline.title)}); measured phases, of repeats the geometric mean`}
        columns={columns}
        rows={rowsOf(rows, index)}
      />
      {origins(rows, index).map((text) => (
        <p class="small" key={text}>
          {text.replace(/^./, (first) => first.toUpperCase())}.
        </p>
      ))}
    </>
  );
}

function toneOf(difference: Difference | null): string {
  return difference === null || difference.word === 'undecided' ? '' : difference.word;
}

/** The axis, as the head of its column. */
function Scale({ axis }: { axis: Axis }) {
  return (
    <span class="ratios scale">
      {axis.ticks.map(({ label, at }) => (
        <span key={label} style={{ left: `${at}%` }}>
          {label}
        </span>
      ))}
    </span>
  );
}

/** The interval and the ratio in it; the figures beside say the same. */
function Ratio({ difference, axis }: { difference: Difference | null; axis: Axis }) {
  const { relative, interval } = difference ?? { relative: null, interval: null };
  const at = (share: number) => placeOf(1 + share, axis.reach);
  return (
    <span class={`ratios ${toneOf(difference)}`} aria-hidden="true">
      {axis.ticks.map(({ label, at }) => (
        <i key={label} class={`tick ${at === 50 ? 'one' : ''}`} style={{ left: `${at}%` }} />
      ))}
      {interval !== null && (
        <i
          class="interval"
          style={{ left: `${at(interval.low)}%`, width: `${at(interval.high) - at(interval.low)}%` }}
        />
      )}
      {relative !== null && (
        <i class={interval === null ? 'point bare' : 'point'} style={{ left: `${at(relative)}%` }} />
      )}
    </span>
  );
}
