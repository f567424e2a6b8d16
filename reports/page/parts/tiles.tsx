import { missedOf, said } from '../../account.ts';
import type { Latency, Run } from '../../contract/run.ts';
import { carried } from '../../sweep.ts';
import { percentile, protocolOf, verdict } from '../facts.ts';
import { count, figure, ms, msUnit, percent, plural } from '../format.ts';
import { p99Interval } from '../interval.ts';

interface Tile {
  name: string;
  value: string;
  unit?: string;
  note: string;
  /** It is what a limit did not hold for, or what did not arrive. */
  worry?: boolean;
}

/** The figures that matter most, each beside what it is to be held against. */
export function Tiles({ run }: { run: Run }) {
  const { arrival, http } = run.latency;
  if (arrival.count + http.count === 0) return null;
  return (
    <dl class="tiles">
      {tiles(run).map(({ name, value, unit, note, worry }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={worry ? 'worry' : ''}>
            {value} {unit && <span class="unit">{unit}</span>}
          </dd>
          <dd class="note">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

function tiles(run: Run): Tile[] {
  // A figure that can't be used is not held against a limit.
  const usable = ['pass', 'fail'].includes(verdict(run).result);
  const { arrival, http } = run.latency;
  const { value, unit } = inMs(percentile(arrival, 'p50'));
  return [
    arrivalTile(run, usable),
    {
      name: `${protocolOf(run)} p99`,
      ...inMs(percentile(http, 'p99')),
      note: `sent → answer, ${plural(http.count, 'request')}`,
    },
    { name: 'Arrival p50', value, ...(unit && { unit }), note: `max ${msUnit(arrival.max)}${mostly(run)}` },
    missedTile(run, usable),
    { name: 'Rate', ...(usable ? rateOf(run) : { value: '–', note: 'no answer: see the verdict' }) },
    ...busiest(run),
  ];
}

function inMs(value: number | null): Pick<Tile, 'value' | 'unit'> {
  return { value: ms(value), ...(value === null ? {} : { unit: 'ms' }) };
}

function arrivalTile(run: Run, usable: boolean): Tile {
  const { answer, latency } = run;
  const limit = answer?.p99_limit_ms ?? null;
  const within = usable ? (answer?.within_limit ?? null) : null;
  const p99 = percentile(latency.arrival, 'p99');
  const interval = usable ? p99Interval(run) : null;
  const beside = [
    ...(interval === null ? [] : [`${ms(interval[0])} to ${msUnit(interval[1])}`]),
    ...(limit === null
      ? [`${run.run.model === 'closed' ? 'sent' : 'due'} → arrived`]
      : [`limit ${msUnit(limit)}${within === null ? '' : `, ${percent(within)} within`}`]),
  ];
  return {
    name: 'Arrival p99',
    ...inMs(p99),
    note: p99 === null ? 'too few deliveries' : beside.join('; '),
    worry: usable && limit !== null && p99 !== null && p99 >= limit,
  };
}

/** Messages that did not arrive, and the end that most of them had. */
function missedTile({ account }: Run, usable: boolean): Tile {
  const missed = missedOf(account);
  const all = missed.reduce((sum, { count }) => sum + count, 0);
  const [most] = missed.sort((a, b) => b.count - a.count);
  return {
    name: 'Not arrived',
    value: count(all),
    note:
      most === undefined
        ? `of ${plural(account.scheduled, 'message')}`
        : `${percent(all / account.scheduled)} of ${count(account.scheduled)}, ${
            missed.length > 1 ? `${count(most.count)} ` : ''
          }${said(most.end)}`,
    worry: usable && all > 0,
  };
}

/** The stage that took most of the slowest delivery. */
function mostly({ messages }: Run): string {
  const [stage] = Object.entries(messages?.slowest[0]?.stages_ms ?? {}).sort(([, a], [, b]) => b - a);
  return stage === undefined ? '' : `, mostly ${stage[0]}`;
}

/** The rate that was held below the limit, or what the busiest phase carried. */
function rateOf({ answer, steps }: Run): Omit<Tile, 'name'> {
  const unit = 'messages/s';
  const held = answer?.held_per_s ?? 0;
  if (held > 0) return { value: figure(held), unit, note: 'held with p99 below the limit' };
  const measured = steps.filter((step) => step.measured);
  const best = measured.sort((a, b) => carried(b) - carried(a))[0];
  if (best === undefined) return { value: '–', note: 'no measured phase' };
  return { value: figure(carried(best)), unit, note: `accepted and arrived in “${best.name.slice(0, 20)}”` };
}

/** The process that has the least of a core left; nothing where no process reported. */
function busiest({ resources }: Run): Tile[] {
  const known = resources.filter(
    ({ process, cpu_percent }) => process !== 'host' && cpu_percent?.max != null,
  );
  const [most] = known.sort((a, b) => (b.cpu_percent?.max ?? 0) - (a.cpu_percent?.max ?? 0));
  if (most === undefined) return [];
  return [
    {
      name: 'Busiest process',
      value: figure(most.cpu_percent?.max),
      unit: '% of a core',
      note: `${most.process.slice(0, 30)}, at most; ${figure(most.cpu_percent?.mean)} % on average`,
    },
  ];
}

/** Why requests may take longer than arrivals, where they do. */
export function slowerRequests(run: Run): string | null {
  const [arrival, http] = [run.latency.arrival, run.latency.http].map((of: Latency) => percentile(of, 'p99'));
  if (arrival == null || http == null || http <= arrival || protocolOf(run) !== 'HTTP') return null;
  return 'The answer can be slower than the arrival: the ingest answers after Redis has confirmed, and by then the message may have arrived.';
}
