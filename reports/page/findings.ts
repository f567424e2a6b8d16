/** What stands out in a run, in plain sentences: the rules are stated beside the figures they judge. Pure. */

import { type Interval, type Resource, type Run, STAGES, type Stage } from '../contract/run.ts';
import { isGenerator, percentile, type Span } from './facts.ts';
import { clock, count, figure, msUnit, percent } from './format.ts';

/** Of a core, or of all that a host has: what uses as much for so many seconds has no more to give. */
const FULL_CORE = 95;
const FULL_SECONDS = 3;
/** A stage has given way when its mean is more than so many times what it was before. */
const GAVE_WAY = 3;
/** A phase that is shorter says nothing of a backlog that grows. */
const SHORTEST_PHASE = 5;
/** vmstat: idle is near 0 below this %, switches are many above this rate a second, in this share of the run. */
const IDLE = 5;
const SWITCHES = 10_000;
const INTERRUPTS = 20_000;
const MUCH_OF_THE_RUN = 0.2;
/** Of a host's CPU, %: a hypervisor that gives as much to others is heard of (stealMuch of internal/judge). */
const STEAL = 2;
/** Growth of the backlog over a phase that is more than what is just under way, in seconds of arrivals. */
const BACKLOG_SECONDS = 0.5;

export interface Finding {
  text: string;
  /** Something gave way, as opposed to a figure that is good to know. */
  worry: boolean;
  /** The seconds that it is about. */
  span?: Span;
}

/** @param sound the account balances, so latencies may be shown */
export function findings(run: Run, sound: boolean): Finding[] {
  const worst = sound ? worstSecond(run) : null;
  const gaveWay = [
    ...run.resources.map((resource) => fullCore(run, resource)),
    fullHost(run),
    ...backlogs(run),
  ];
  return [
    ...(worst ? [{ ...worst, worry: false }] : []),
    ...gaveWay.flatMap((found) => (found === null ? [] : [{ ...found, worry: true }])),
    ...vmstat(run).map((text) => ({ text, worry: true })),
  ];
}

type Found = Pick<Finding, 'text' | 'span'>;

/** Arrival p99, ms; null where too few deliveries stand behind it. */
const p99Of = (second: Interval) => percentile(second.arrival ?? { count: 0 }, 'p99');

/** The second with the highest p99, where it stands out. */
function worstSecond({ timeline, latency }: Run): Found | null {
  let worst: Interval | null = null;
  for (const second of timeline) if ((p99Of(second) ?? 0) > ((worst && p99Of(worst)) ?? 0)) worst = second;
  const [value, whole] = [worst && p99Of(worst), percentile(latency.arrival, 'p50')];
  if (worst === null || value === null || whole === null || value < 2 * whole) return null;
  const stage = heaviest(worst);
  const held = stage === null ? '' : `; ${stage.stage} held ${percent(stage.share)} of its mean`;
  return {
    text: `The worst second is ${clock(worst.t)}, with arrival p99 ${msUnit(value)}${held}.`,
    span: { start: worst.t, end: worst.t + 1 },
  };
}

function heaviest({ stages }: Interval): { stage: Stage; share: number } | null {
  if (stages === null) return null;
  const whole = STAGES.reduce((sum, stage) => sum + (stages[stage] ?? 0), 0);
  const stage = STAGES.reduce((a, b) => ((stages[b] ?? 0) > (stages[a] ?? 0) ? b : a));
  return whole > 0 ? { stage, share: (stages[stage] ?? 0) / whole } : null;
}

/** A process that had no core left, and the stage that grew meanwhile. The generator has threads: its check is another. */
function fullCore(run: Run, { process, series }: Resource): Found | null {
  if (isGenerator(run, process) || process === 'host') return null;
  const full = longestSpan(series.map(([t, cpu]) => [t, (cpu ?? 0) >= FULL_CORE]));
  if (full === null) return null;
  const inside = run.timeline.filter(({ t }) => t >= full.from && t <= full.to);
  const before = run.timeline.filter(({ t }) => t < full.from);
  const rise = (stage: Stage) => meanStage(inside, stage) - meanStage(before, stage);
  const stage = STAGES.reduce((a, b) => (rise(b) > rise(a) ? b : a));
  const [was, is] = [meanStage(before, stage), meanStage(inside, stage)];
  // Full from the first second: with nothing before it, nothing can be said of what gave way.
  const comparable = before.some(({ stages }) => stages !== null);
  const gave = !comparable
    ? ''
    : was > 0 && is > GAVE_WAY * was
      ? `: ${stage} gave way, ${msUnit(was)} before and ${msUnit(is)} then`
      : '; no stage gave way';
  return {
    text: `${name(process)} used ${FULL_CORE} % of a core or more from ${clock(full.from)} to ${clock(full.to + 1)}${gave}.`,
    span: { start: full.from, end: full.to + 1 },
  };
}

/** A host whose cores were all at work, or taken by its hypervisor: what each process used does not show it. */
function fullHost({ resources }: Run): Found | null {
  const figures = resources.find(({ process }) => process === 'host')?.figures;
  if (!figures) return null;
  const { t, bin_s, gauges } = figures;
  const idle = (i: number) => (gauges.id?.[i] ?? 100) + (gauges.wa?.[i] ?? 0);
  const full = longestSpan(
    t.map((start, i) => [start, 100 - idle(i) >= FULL_CORE]),
    bin_s,
  );
  if (full === null) return null;
  return {
    text: `The host was full from ${clock(full.from)} to ${clock(full.to + bin_s)}: its cores were busy for ${FULL_CORE} % of the time or more, steal included.`,
    span: { start: full.from, end: full.to + bin_s },
  };
}

/** The longest stretch of rows in which something held, if it is long enough. A row is of so many seconds. */
function longestSpan(seconds: [t: number, held: boolean][], width = 1): { from: number; to: number } | null {
  let best: { from: number; to: number } | null = null;
  let from: number | null = null;
  for (const [t, held] of seconds) {
    from = held ? (from ?? t) : null;
    if (from !== null && t - from > (best ? best.to - best.from : -1)) best = { from, to: t };
  }
  return best && best.to - best.from + width >= FULL_SECONDS ? best : null;
}

/** Phases in which more came than got through. */
function backlogs({ steps, timeline }: Run): Found[] {
  return steps.flatMap((step) => {
    const end = step.start_s + step.duration_s;
    const inside = timeline.filter(({ t }) => t >= step.start_s && t + 1 <= end);
    const [first, last] = [inside[0], inside.at(-1)];
    if (!step.measured || !first || !last || inside.length < SHORTEST_PHASE) return [];
    const grew = last.backlog - first.backlog;
    if (grew <= BACKLOG_SECONDS * mean(inside.map(({ arrived }) => arrived))) return [];
    return [
      {
        text: `In “${name(step.name)}” more came than got through: the backlog grew from ${count(first.backlog)} to ${count(last.backlog)} deliveries.`,
        span: { start: step.start_s, end },
      },
    ];
  });
}

/** The rules of thumb for vmstat, over the seconds of the run. */
function vmstat({ resources }: Run): string[] {
  const gauges = resources.find(({ process }) => process === 'host')?.figures?.gauges;
  if (gauges === undefined) return [];
  const column = (key: string) => gauges[key] ?? [];
  const rows = column('id').map((id, i) => ({ id, cs: column('cs')[i] ?? 0, in: column('in')[i] ?? 0 }));
  const part = (rule: (row: { id: number; cs: number; in: number }) => boolean) =>
    rows.length === 0
      ? 0
      : rows.filter((row) => row.id !== null && rule({ ...row, id: row.id })).length / rows.length;
  const spent = part(({ id, cs }) => id < IDLE && cs > SWITCHES);
  const bound = part(({ id, in: interrupts }) => id >= 40 && id <= 50 && interrupts > INTERRUPTS);
  const swapped = [...column('si'), ...column('so')].some((value) => (value ?? 0) > 0);
  const steal = column('st').flatMap((value) => value ?? []);
  const said: [holds: boolean, sentence: string][] = [
    [
      mean(steal) >= STEAL,
      `The hypervisor took ${figure(mean(steal))} % of the host's CPU, and ${figure(Math.max(...steal))} % in the worst second: the latencies contain its pauses.`,
    ],
    [
      spent >= MUCH_OF_THE_RUN,
      `In ${percent(spent)} of the run the host was less than ${IDLE} % idle with more than ${count(SWITCHES)} context switches a second: its cores have no more to give.`,
    ],
    [
      bound >= MUCH_OF_THE_RUN,
      `In ${percent(bound)} of the run the host was 40 to 50 % idle with more than ${count(INTERRUPTS)} interrupts a second: look at the network interface, not at the cores.`,
    ],
    [swapped, 'The host swapped: it needs more memory, and the latencies contain disk accesses.'],
  ];
  return said.flatMap(([holds, sentence]) => (holds ? [sentence] : []));
}

function meanStage(seconds: Interval[], stage: Stage): number {
  return mean(seconds.flatMap(({ stages }) => stages?.[stage] ?? []));
}

/** 0 of nothing. */
function mean(values: number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A name that may be of any length. */
function name(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
