import { signOf, verdictText } from '../../comparison/doubts.ts';
import { changeText, count, duration, instant, ms, visible } from '../../format.ts';
import { type SortableColumn, Table } from '../../page/table.tsx';
import type { Order } from '../changes.ts';
import { isSound, type Listed } from '../entry.ts';
import { labelsOf, scriptOf } from '../text.ts';
import { compareOf, type Filter, liveOf, reportOf } from './links.ts';
import { Sparkline, scaleOf } from './sparkline.tsx';

interface RunsProps {
  runs: Listed[];
  /** Directories. */
  ticked: string[];
  onTick: (run: Listed) => void;
  filter: Filter;
  onSort: (sort: Order, ascending: boolean) => void;
}

const MARKS = { pass: '✓', fail: '✕', invalid: '!', incomplete: '…' } as const;
/** Differences of two runs that are named; a comparison has all. */
const MOST_NAMED = 2;

/** A row a run; what all of them have in common stands above them. */
export function Runs({ runs, ticked, onTick, filter, onSort }: RunsProps) {
  const facts = runs.map(factsOf);
  const common =
    facts.length < 2 ? [] : (facts[0] ?? []).filter((one) => facts.every((all) => all.includes(one)));
  const scale = scaleOf(runs.flatMap(({ spark }) => spark));
  const sorted = (order: Order): Pick<SortableColumn<Listed>, 'by'> => ({ by: () => order });
  const columns: SortableColumn<Listed>[] = [
    {
      head: 'run',
      text: true,
      cell: (run) => (
        <span class="name">
          <input
            type="checkbox"
            aria-label={`Compare ${visible(run.name)}`}
            disabled={run.generator !== null}
            checked={ticked.includes(run.directory)}
            onChange={() => onTick(run)}
          />
          <span>
            <a href={run.live ? liveOf(run.directory) : reportOf(run.directory)} title={visible(run.name)}>
              {visible(shortName(run))}
            </a>
            <small>
              {visible(
                factsOf(run)
                  .filter((one) => !common.includes(one))
                  .join(' · '),
              )}
              {run.job && (
                <>
                  {' · '}
                  <Job job={run.job} />
                </>
              )}
            </small>
          </span>
        </span>
      ),
    },
    { head: 'verdict', text: true, cell: (run) => <Verdict run={run} /> },
    {
      head: 'not arrived',
      ...sorted('missed'),
      cell: ({ missed }) => (missed === null ? '' : <span class="worry">{missed.text}</span>),
    },
    { head: 'p99', unit: 'ms', ...sorted('p99'), cell: (run) => <P99 run={run} /> },
    {
      head: 'change',
      unit: 'of p99',
      text: true,
      ...sorted('change'),
      cell: (run) => <Changed run={run} />,
    },
    {
      head: 'p99 over time',
      ...(scale && { unit: `${ms(scale.low)} to ${ms(scale.high)} ms` }),
      text: true,
      cell: ({ spark }) => <Sparkline values={spark} scale={scale} />,
    },
    { head: 'p50', unit: 'ms', ...sorted('p50'), cell: ({ arrival }) => ms(arrival?.p50) },
    { head: 'messages', ...sorted('messages'), cell: ({ account }) => count(account.scheduled) },
    { head: 'started', unit: 'UTC', text: true, ...sorted('started'), cell: (run) => <Started run={run} /> },
  ];
  const column = columns.findIndex(({ by }) => by?.(runs[0] as Listed) === filter.sort);
  const caption = `Arrival latency of the measured phases; change from the last usable run of the same load${common.length > 0 ? `. All: ${common.join(' · ')}` : ''}`;
  return (
    <div class="runs">
      <Table
        caption={visible(caption)}
        columns={columns}
        rows={runs}
        order={{ column, descending: !filter.ascending }}
        onSort={(i) => {
          const order = columns[i]?.by?.(runs[0] as Listed) as Order;
          onSort(order, order === filter.sort && !filter.ascending);
        }}
      />
    </div>
  );
}

function Job({ job: { name, url } }: { job: NonNullable<Listed['job']> }) {
  return url === null ? <span>{visible(name)}</span> : <a href={url}>{visible(name)}</a>;
}

/** Properties by which a run differs from others, beside its name. */
function factsOf(run: Listed): string[] {
  const { tool, profile, topology, network, load, conditions, generator } = run;
  const part = generator === null ? '' : `generator ${generator.number} of ${generator.of}`;
  const all = [load, ...labelsOf(run), ...conditions, tool, profile, topology, network, part];
  return all.filter((one) => one !== '');
}

/** A name that only says what the row says: ramp-single-loopback-20261124T063922Z. */
export function shortName({ name, ...run }: Pick<Listed, 'name' | 'method' | 'tool'>): string {
  return name.startsWith(`${run.method}-`) && /-\d{8}T\d{6}Z$/.test(name) ? scriptOf(run) : name;
}

function Verdict({ run }: { run: Listed }) {
  if (run.live) return <a href={liveOf(run.directory)}>running</a>;
  // What a plain pass means is known.
  const says = run.verdict === 'pass' && run.missed === null ? '' : run.meaning || run.reason;
  return (
    <>
      <Tag verdict={run.verdict} undecided={run.undecided} />
      {says !== '' && <small title={visible(run.reason || says)}>{visible(says)}</small>}
    </>
  );
}

/** A verdict by mark, word and colour. */
export function Tag(run: Pick<Listed, 'verdict'> & Partial<Pick<Listed, 'undecided'>>) {
  return (
    <span class={`tag ${run.verdict}`}>
      <span aria-hidden="true">{MARKS[run.verdict]}</span> {verdictText(run)}
    </span>
  );
}

function P99({ run }: { run: Listed }) {
  const { arrival, doubt, limit, live } = run;
  const sign = arrival?.p99 == null ? '' : signOf(doubt);
  return (
    <>
      <span class={!live && isSound(run) ? '' : 'unusable'}>
        {sign}
        {ms(arrival?.p99)}
      </span>
      {limit !== null && <small>limit {ms(limit)}</small>}
    </>
  );
}

/** The change from the last usable run of the same load before. */
function Changed({ run: { directory, change } }: { run: Listed }) {
  if (change === null) return <span class="small">–</span>;
  const { from, p99, differs } = change;
  const more = differs.length - MOST_NAMED;
  return (
    <>
      <a href={compareOf([from, directory])} title={visible(`Compare with ${from}`)}>
        {changeText(p99)}
      </a>
      <small title={visible(differs.join(', '))}>
        {visible(differs.slice(0, MOST_NAMED).join(', '))}
        {more > 0 && `, ${more} more`}
      </small>
    </>
  );
}

function Started({ run: { started, ended } }: { run: Listed }) {
  return (
    <span class="nowrap">
      {instant(started).slice(0, 16)}
      <small>
        {ended === null ? 'not ended' : duration((Date.parse(ended) - Date.parse(started)) / 1000)}
      </small>
    </span>
  );
}
