import { type Latencies, type Run, STAGES, type Stage } from '../../contract/run.ts';
import { percentile } from '../facts.ts';
import { ms, msUnit, plural } from '../format.ts';
import { LongTable } from '../table.tsx';

const WHOLE = 'measured phases';
const KEYS: readonly Row['key'][] = ['p50', 'p99'];
/** Of so many phases the p99 alone is shown. */
const MANY = 6;

interface Row {
  name: string;
  key: 'p50' | 'p99';
  arrival: number;
  stages: Record<Stage, number>;
}

/** The stages one after the other, each as long as its percentile: for the whole and for each measured phase. */
export function Waterfall({ run }: { run: Run }) {
  const phases = run.steps.filter((step) => step.measured);
  const known = STAGES.filter((stage) => run.latency.stages[stage].count > 0);
  const keys = phases.length > MANY ? KEYS.slice(-1) : KEYS;
  const rows = [
    ...rowsOf(WHOLE, run.latency, KEYS, known),
    ...(phases.length > 1 ? phases.flatMap((step) => rowsOf(nameOf(step), step.latency, keys, known)) : []),
  ];
  if (rows.length === 0 || known.length < 2) return null;
  return (
    <div class="waterfall">
      <h3>{title(rows)}</h3>
      <p class="small">
        Stages at p50 and p99, ms; bars of one percentile are to one scale. Each begins where the one before
        it ends. Percentiles do not add up, so their end is not the arrival latency, which is the upright
        line.
      </p>
      <LongTable
        what="rows"
        caption="The percentile of each stage by itself, ms"
        columns={[
          { head: 'phase', text: true, cell: (row) => row.name },
          { head: 'at', text: true, cell: (row) => row.key },
          {
            head: <span class="wide">stages, one after the other</span>,
            text: true,
            cell: (row) => <Bars row={row} widest={widest(rows, row.key)} />,
          },
          ...known.map((stage) => ({
            head: (
              <>
                <i class="swatch" style={{ background: `var(--${stage})` }} /> {stage}
              </>
            ),
            cell: (row: Row) => ms(row.stages[stage]),
          })),
          { head: 'arrival', cell: (row) => ms(row.arrival) },
        ]}
        rows={rows}
      />
    </div>
  );
}

function title(rows: Row[]): string {
  const longest = rows
    .filter(({ name }) => name === WHOLE)
    .map(({ key, stages }) => {
      const stage = STAGES.reduce((a, b) => (stages[b] > stages[a] ? b : a));
      return `${stage} at ${key} (${msUnit(stages[stage])})`;
    });
  return `Longest stage: ${longest.join(', ')}`;
}

function nameOf({ name, vus }: Run['steps'][number]): string {
  if (vus === null) return name;
  return name === `${vus}` ? plural(vus, 'VU') : `${name}, ${plural(vus, 'VU')}`;
}

/** Rows for the percentiles that enough samples stand behind. */
function rowsOf(
  name: string,
  latencies: Latencies,
  keys: readonly Row['key'][],
  known: readonly Stage[],
): Row[] {
  return keys.flatMap((key) => {
    const arrival = percentile(latencies.arrival, key);
    const of = (stage: Stage) => percentile(latencies.stages[stage], key);
    if (arrival === null || known.some((stage) => of(stage) === null)) return [];
    const stages = Object.fromEntries(STAGES.map((stage) => [stage, Math.max(0, of(stage) ?? 0)]));
    return [{ name, key, arrival, stages: stages as Record<Stage, number> }];
  });
}

function total({ stages }: Row): number {
  return STAGES.reduce((sum, stage) => sum + stages[stage], 0);
}

function widest(rows: Row[], key: Row['key']): number {
  return Math.max(...rows.filter((row) => row.key === key).map((row) => Math.max(total(row), row.arrival)));
}

function Bars({ row, widest: whole }: { row: Row; widest: number }) {
  let start = 0;
  const at = (value: number) => `${(100 * value) / (whole || 1)}%`;
  return (
    <span class="cascade" aria-hidden="true">
      {STAGES.map((stage, i) => {
        const left = start;
        start += row.stages[stage];
        return (
          <i
            key={stage}
            style={{
              left: at(left),
              width: at(row.stages[stage]),
              top: `${i * 4}px`,
              background: `var(--${stage})`,
            }}
          />
        );
      })}
      <i class="end" style={{ left: at(row.arrival) }} />
    </span>
  );
}
