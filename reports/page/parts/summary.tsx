import { type Run, STAGES } from '../../contract/run.ts';
import { carried } from '../../sweep.ts';
import { Chart } from '../chart.tsx';
import type { Line } from '../chart-data.ts';
import { wantsLog } from '../chart-ranges.ts';
import { overTime, percentile, protocolOf, share, verdict } from '../facts.ts';
import { clock, count, figure, ms, msUnit, percent, percentWithin, plural } from '../format.ts';
import type { PartProps } from '../part.ts';
import { AccountLine } from './account.tsx';
import { InstrumentLine } from './instrument.tsx';

/** The figures that matter most, each beside what it is to be held against. */
export function Summary({ run, sound }: PartProps) {
  return (
    <>
      {sound && <Tiles run={run} />}
      {sound && <P99Chart run={run} />}
      {sound && <StageBars run={run} />}
      <AccountLine run={run} sound={sound} />
      <InstrumentLine run={run} sound={sound} />
    </>
  );
}

interface Tile {
  name: string;
  value: string;
  unit?: string;
  note: string;
  /** It is what a limit did not hold for. */
  worry?: boolean;
}

function Tiles({ run }: { run: Run }) {
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
  const { latency, account, answer } = run;
  const { arrival, http } = latency;
  const limit = answer?.p99_limit_ms ?? null;
  // What can't be used is not held against a limit.
  const usable = isUsable(run);
  const within = usable ? (answer?.within_limit ?? null) : null;
  const p99 = percentile(arrival, 'p99');
  const of = (key: 'p50' | 'p99', from: typeof arrival) => {
    const value = percentile(from, key);
    return { value: ms(value), ...(value === null ? {} : { unit: 'ms' }) };
  };
  const few = (note: string) => (p99 === null ? 'too few deliveries' : note);
  return [
    {
      name: 'Arrival p99',
      ...of('p99', arrival),
      note: few(
        limit === null
          ? `${run.run.model === 'closed' ? 'sent' : 'due'} → arrived`
          : `limit ${msUnit(limit)}${within === null ? '' : `, ${percentWithin(within)} within`}`,
      ),
      worry: usable && limit !== null && p99 !== null && p99 >= limit,
    },
    { name: 'p50', ...of('p50', arrival), note: plural(arrival.count, 'delivery', 'deliveries') },
    { name: 'Max', value: ms(arrival.max), unit: 'ms', note: slowestOf(run) },
    {
      name: 'Lost',
      value: count(account.lost),
      note: `of ${count(account.scheduled)} scheduled`,
      worry: usable && account.lost > 0,
    },
    { name: 'Rate', ...(usable ? rateOf(run) : { value: '–', note: 'no answer: see the verdict' }) },
    { name: `${protocolOf(run)} p99`, ...of('p99', http), note: plural(http.count, 'request') },
  ];
}

function isUsable(run: Run): boolean {
  return ['pass', 'fail'].includes(verdict(run).result);
}

function slowestOf({ messages }: Run): string {
  const slowest = messages?.slowest[0];
  const [stage] = Object.entries(slowest?.stages_ms ?? {}).sort(([, a], [, b]) => b - a);
  return stage === undefined ? 'of all deliveries' : `mostly ${stage[0]}`;
}

/** The rate that was held below the limit, or what the busiest phase carried. */
function rateOf({ answer, steps }: Run): Omit<Tile, 'name'> {
  const unit = 'messages/s';
  const held = answer?.held_per_s ?? 0;
  if (held > 0) return { value: figure(held), unit, note: 'with p99 below the limit' };
  const measured = steps.filter((step) => step.measured);
  const best = measured.sort((a, b) => carried(b) - carried(a))[0];
  if (best === undefined) return { value: '–', note: 'no measured phase' };
  return { value: figure(carried(best)), unit, note: `accepted and arrived in “${best.name.slice(0, 20)}”` };
}

/** p99 second by second, with the limit, over the load. */
function P99Chart({ run }: { run: Run }) {
  const { timeline, answer } = run;
  if (timeline.length < 2) return null;
  const limit = answer?.p99_limit_ms ?? null;
  const p99: Line = {
    label: 'arrival p99',
    values: timeline.map(({ arrival }) => (arrival === null ? null : percentile(arrival, 'p99'))),
    colour: 'p99',
  };
  if (p99.values.every((value) => value === null)) return null;
  const lines: Line[] = [
    {
      label: `${run.run.model === 'closed' ? 'sent' : 'scheduled'} messages/s`,
      values: timeline.map(({ scheduled }) => scheduled),
      colour: 'grey',
      fill: true,
      behind: true,
    },
    p99,
    ...(limit === null
      ? []
      : [{ label: 'limit', values: timeline.map(() => limit), colour: 'fail', dash: 'dashed' as const }]),
  ];
  const above = limit === null ? 0 : p99.values.filter((value) => value !== null && value >= limit).length;
  return (
    <Chart
      {...overTime(run)}
      name="Arrival p99"
      unit={wantsLog(lines) ? 'ms, logarithmic; the load behind it' : 'ms; the load behind it'}
      title={title(p99.values, limit, above, timeline)}
      x={timeline.map(({ t }) => t + 0.5)}
      log={wantsLog(lines)}
      format={ms}
      lines={lines}
      height={240}
      wide
    />
  );
}

function title(
  p99: (number | null)[],
  limit: number | null,
  above: number,
  timeline: Run['timeline'],
): string {
  const most = p99.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const worst = `at most ${msUnit(most)} (${clock(timeline[p99.indexOf(most)]?.t ?? 0)})`;
  if (limit === null) return `p99 of each second was ${worst}`;
  if (above === 0) return `p99 of each second was below the limit of ${msUnit(limit)}: ${worst}`;
  return `p99 was at or above the limit of ${msUnit(limit)} in ${plural(above, 'second')}: ${worst}`;
}

/** What the mean arrival consists of, of all deliveries and of the slowest. */
function StageBars({ run }: { run: Run }) {
  const { latency, tail } = run;
  const all = STAGES.flatMap((stage) => {
    const part = share(latency, stage);
    return part === null
      ? []
      : [{ stage, part, slow: tail ? (tail.stages_ms[stage] ?? 0) / tail.mean_ms : null }];
  });
  if (all.length < 2) return null;
  const rows = [
    { name: 'all deliveries', parts: all.map(({ stage, part }) => ({ stage, part })) },
    ...(tail
      ? [{ name: 'slowest 1 %', parts: all.map(({ stage, slow }) => ({ stage, part: slow ?? 0 })) }]
      : []),
  ];
  return (
    <figure class="stage-bars">
      <figcaption>
        <h3>Where the time goes</h3>
        <p>Share of the mean arrival latency of all deliveries{tail && ' · of the slowest 1 %'}</p>
      </figcaption>
      {rows.map(({ name, parts }) => (
        <p key={name}>
          <span>{name}</span>
          <span class="stack" aria-hidden="true">
            {parts.map(({ stage, part }) => (
              <i
                key={stage}
                style={{ width: `${Math.max(0, 100 * part)}%`, background: `var(--${stage})` }}
              />
            ))}
          </span>
        </p>
      ))}
      <ul>
        {all.map(({ stage, part, slow }) => (
          <li key={stage}>
            <i class="swatch" style={{ background: `var(--${stage})` }} /> {stage} {percent(part)}
            {slow !== null && <small> · {percent(slow)}</small>}
          </li>
        ))}
      </ul>
    </figure>
  );
}
