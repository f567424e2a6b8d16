import { useEffect, useState } from 'preact/hooks';
import { STAGES } from '../../contract/run.ts';
import { clock, count, figure, ms, msUnit, percent, plural, visible } from '../../format.ts';
import { Chart } from '../../page/chart.tsx';
import type { Line } from '../../page/chart-data.ts';
import { wantsLog } from '../../page/chart-ranges.ts';
import { colourOf, type PhaseSpan } from '../../page/facts.ts';
import type { End, Plan, Second } from '../entry.ts';
import { eventsOf, reportOf } from './links.ts';
import { Tag } from './runs.tsx';

type State = 'connecting' | 'running' | 'ended' | 'away' | 'none';

const SAID: Record<State, string> = {
  connecting: 'Connecting …',
  running: 'In progress; a point a second.',
  ended: 'The run has ended.',
  away: 'The server does not answer. This page tries again.',
  none: 'No such run is in progress.',
};
const DRAINING = 'draining';
/** A chart is drawn again each second, so only the end of long runs is shown. */
const SHOWN = 900;

/** A run in progress, second by second. */
export function Live({ run }: { run: string }) {
  const { seconds, state, plan, end } = useSeconds(run);
  useEffect(() => {
    document.title = `${visible(run)} – Arrival`;
  }, [run]);
  const last = seconds.at(-1);
  const shown = seconds.slice(-SHOWN);
  const column = (of: (second: Second) => number | null) => shown.map(of);
  const { limit, planned } = plan ?? { limit: null, planned: null };
  const common = {
    kind: 'time' as const,
    x: shown.map(({ t }) => t + 0.5),
    begin: shown[0]?.t ?? 0,
    // The load as planned, so that a second keeps its place; of long runs, and in the drain, up to now.
    ...(planned !== null && planned <= SHOWN && { end: Math.max(planned, (last?.t ?? 0) + 1) }),
    phases: phasesOf(shown),
  };
  const latency: Line[] = [
    { label: 'p50', values: column((s) => s.p50), colour: 'p50', dash: 'dotted' },
    { label: 'p99', values: column((s) => s.p99), colour: 'p99' },
    { label: 'limit', values: column(() => limit), colour: 'fail', dash: 'dashed' },
  ];
  const above = limit === null ? 0 : seconds.filter(({ p99 }) => p99 !== null && p99 >= limit).length;
  const sum = (of: (second: Second) => number) => seconds.reduce((total, second) => total + of(second), 0);
  const named = Object.keys(last?.stages ?? {});
  const stages = [
    ...STAGES.filter((stage) => named.includes(stage)),
    ...named.filter((stage) => !STAGES.includes(stage)),
  ];
  const tiles = last && [
    [
      'Arrival p99',
      msUnit(last.p99),
      limit === null ? 'no limit' : `limit ${msUnit(limit)}, ${plural(above, 'second')} above`,
    ],
    ['Rate', figure(last.scheduled), `messages/s scheduled, ${count(sum((s) => s.scheduled))} so far`],
    ['Rejected', count(sum((s) => s.refused)), 'or unknown, so far'],
    ['Not arrived', count(last.backlog), 'losses are known at the end'],
    ['Lateness', msUnit(last.stages?.schedule), 'mean of the second'],
    ['Generator CPU', last.cpu === null ? '–' : percent(last.cpu / 100), 'of one core'],
  ];
  return (
    <>
      <header>
        <p class="kind">
          <a href="/">Arrival runs</a>
        </p>
        <h1>{visible(run)}</h1>
        <p class="meta" role="status">
          {end?.verdict && <Tag verdict={end.verdict} />} {SAID[state]}
          {end !== null && end.reason !== '' && ` ${visible(end.reason)}.`}
          {seconds.length > SHOWN && ` Charts show the last ${SHOWN / 60} minutes.`}{' '}
          {state === 'ended' && <a href={reportOf(run)}>Its report</a>}
        </p>
      </header>
      {last && tiles && (
        <section>
          <h2>
            {clock(last.t + 1)}
            {planned !== null && ` of ${clock(planned)}`} · {last.phase ?? DRAINING}
          </h2>
          {planned !== null && <progress max={planned} value={last.t + 1} aria-label="Time of the load" />}
          <dl class="tiles">
            {tiles.map(([name, value, note]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
                <dd class="note">{note}</dd>
              </div>
            ))}
          </dl>
          <div class="charts">
            <Chart
              name="Messages"
              unit="per second"
              axis="messages per second"
              title={`${count(last.scheduled)} scheduled and ${count(last.accepted)} accepted in the last second`}
              {...common}
              whole
              format={count}
              lines={[
                { label: 'scheduled', values: column((s) => s.scheduled), colour: 'grey', fill: true },
                { label: 'accepted', values: column((s) => s.accepted), colour: 'blue' },
                ...(shown.some((s) => s.refused > 0)
                  ? [
                      {
                        label: 'rejected or unknown',
                        values: column((s) => s.refused),
                        colour: 'magenta',
                        dash: 'dashed' as const,
                      },
                    ]
                  : []),
              ]}
            />
            <Chart
              name="Backlog"
              unit="deliveries due and not arrived, at the end of each second"
              axis="deliveries"
              title={`${plural(last.backlog, 'delivery', 'deliveries')} behind`}
              {...common}
              whole
              format={count}
              lines={[{ label: 'backlog', values: column((s) => s.backlog), colour: 'orange', fill: true }]}
            />
            <Chart
              name="Arrival latency"
              unit={`${wantsLog(latency) ? 'ms, logarithmic' : 'ms'}, of what arrived in each second`}
              title={
                last.p99 === null
                  ? 'Too little arrived in the last second for a p99'
                  : `p99 of the last second is ${msUnit(last.p99)}`
              }
              {...common}
              log={wantsLog(latency)}
              format={ms}
              lines={latency}
            />
            <Chart
              name="Stages"
              unit="ms, means of what arrived in each second"
              title={stagesTitle(last)}
              {...common}
              stacked
              format={ms}
              lines={stages.map((stage) => ({
                label: stage,
                values: column((s) => s.stages?.[stage] ?? null),
                colour: colourOf(stages, stage),
              }))}
            />
            <Chart
              name="Generator"
              unit="% of one core"
              title={
                last.cpu === null
                  ? 'The CPU of the generator is not known'
                  : `The generator used ${percent(last.cpu / 100)} of a core`
              }
              {...common}
              format={figure}
              lines={[{ label: 'CPU', values: column((s) => s.cpu), colour: 'blue' }]}
            />
          </div>
        </section>
      )}
    </>
  );
}

function stagesTitle({ stages }: Second): string {
  const [largest] = Object.entries(stages ?? {}).sort(([, a], [, b]) => (b ?? 0) - (a ?? 0));
  if (largest?.[1] == null) return 'No stages are known of the last second';
  return `The largest stage of the last second is ${largest[0]}: ${msUnit(largest[1])} on average`;
}

/** The phases of the seconds; the seconds of the drain belong to none. */
function phasesOf(seconds: Second[]): PhaseSpan[] {
  const spans: PhaseSpan[] = [];
  for (const { t, phase } of seconds) {
    const last = spans.at(-1);
    if (last !== undefined && last.name === (phase ?? DRAINING)) last.end = t + 1;
    else spans.push({ name: phase ?? DRAINING, start: t, end: t + 1, measured: phase !== null });
  }
  return spans;
}

interface Following {
  seconds: Second[];
  state: State;
  plan: Plan | null;
  end: End | null;
}

/** The seconds of a run, as the server sends them. */
function useSeconds(run: string): Following {
  const [seconds, setSeconds] = useState<Second[]>([]);
  const [state, setState] = useState<State>('connecting');
  const [plan, setPlan] = useState<Plan | null>(null);
  const [end, setEnd] = useState<End | null>(null);
  useEffect(() => {
    const source = new EventSource(eventsOf(run));
    // A new connection begins with the first second.
    source.addEventListener('open', () => {
      setSeconds([]);
      setState('running');
    });
    source.addEventListener('plan', (event) => setPlan(JSON.parse(event.data)));
    source.addEventListener('seconds', (event) => {
      const more: Second[] = JSON.parse(visible(event.data));
      setSeconds((before) => [...before, ...more]);
    });
    source.addEventListener('end', (event) => {
      source.close();
      setEnd(JSON.parse(event.data));
      setState('ended');
    });
    // A page that answers with an error is not asked again.
    source.addEventListener('error', () =>
      setState(source.readyState === EventSource.CLOSED ? 'none' : 'away'),
    );
    return () => source.close();
  }, [run]);
  return { seconds, state, plan, end };
}
