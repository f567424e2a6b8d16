import { count, duration, instant, ms, visible } from '../../page/format.ts';
import { type Column, Table } from '../../page/table.tsx';
import type { Entry, Listing } from '../entry.ts';
import { liveOf, reportOf } from './links.ts';
import { Sparkline } from './sparkline.tsx';

type Shown = Listing['runs'][number];

interface RunsProps {
  runs: Shown[];
  /** Directories. */
  ticked: string[];
  onTick: (entry: Entry) => void;
}

const MARKS = { pass: '✓', fail: '✕', invalid: '!', incomplete: '…' } as const;

/** A row a run. */
export function Runs({ runs, ticked, onTick }: RunsProps) {
  const columns: Column<Shown>[] = [
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
            <a href={run.live ? liveOf(run.directory) : reportOf(run.directory)}>{visible(run.name)}</a>
            <small>
              {visible(
                [
                  run.tool,
                  run.profile,
                  ...run.conditions,
                  ...(run.generator === null
                    ? []
                    : [`generator ${run.generator.number} of ${run.generator.of}`]),
                  ...Object.entries(run.labels).map(([name, value]) => `${name}: ${value}`),
                ].join(' · '),
              )}
            </small>
          </span>
        </span>
      ),
    },
    { head: 'verdict', text: true, cell: (run) => <Verdict run={run} /> },
    {
      head: 'arrival p99',
      unit: 'ms, over time',
      text: true,
      cell: ({ spark }) => <Sparkline values={spark} />,
    },
    { head: 'p50', unit: 'ms', cell: ({ arrival }) => ms(arrival?.p50) },
    { head: 'p99', unit: 'ms', cell: ({ arrival }) => ms(arrival?.p99) },
    { head: 'messages', cell: ({ account }) => count(account.scheduled) },
    {
      head: 'lost',
      cell: ({ account }) => <span class={account.lost > 0 ? 'worry' : ''}>{count(account.lost)}</span>,
    },
    { head: 'started', text: true, cell: (run) => <Started run={run} /> },
  ];
  return (
    <div class="runs">
      <Table caption="Newest first; latencies of the measured phases" columns={columns} rows={runs} />
    </div>
  );
}

function Verdict({ run }: { run: Shown }) {
  if (run.live) return <a href={liveOf(run.directory)}>running</a>;
  return (
    <span class={`tag ${run.verdict}`}>
      <span aria-hidden="true">{MARKS[run.verdict]}</span> {run.verdict}
    </span>
  );
}

function Started({ run: { started, ended } }: { run: Shown }) {
  return (
    <span class="nowrap">
      {instant(started).replace(' UTC', '')}
      <small>
        {ended === null ? 'not ended' : duration((Date.parse(ended) - Date.parse(started)) / 1000)}
      </small>
    </span>
  );
}
