/** What stands out in a run, in plain sentences: the rules are stated beside the figures they judge. Pure. */

import { type Interval, type Resource, type Run, STAGES, type Stage } from '../contract/run.ts';
import { rulesOf } from '../rules.ts';
import { carried, missed, sweepSteps, whole } from '../sweep.ts';
import { isGenerator, percentile } from './facts.ts';
import { clock, count, figure, msUnit, percent, plural } from './format.ts';

/** Of a core, or of all that a host has: what uses as much for so many seconds has no more to give. */
const FULL_CORE = 95;
const FULL_SECONDS = 3;
/** A stage has given way when its mean is more than so many times what it was before. */
const GAVE_WAY = 3;
/** A rate is held when it is kept for so many seconds. */
const HELD_SECONDS = 5;
/** Rates that differ by no more than this share are the same: what is due in a second is a whole number. */
const AS_MUCH = 0.01;
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
}

/** @param sound the account balances, so latencies may be shown */
export function findings(run: Run, sound: boolean): Finding[] {
  const say = (worry: boolean, text: string | null): Finding[] => (text === null ? [] : [{ worry, text }]);
  return [
    ...(sound ? say(false, kneeSentence(run)) : []),
    ...(sound ? say(false, heldRate(run)) : []),
    ...(sound ? say(false, worstSecond(run)) : []),
    ...run.resources.flatMap((resource) => say(true, fullCore(run, resource))),
    ...say(true, fullHost(run)),
    ...backlogs(run).map((text) => ({ worry: true, text })),
    ...vmstat(run).map((text) => ({ worry: true, text })),
  ];
}

function kneeSentence(run: Run): string | null {
  const { knee } = run;
  const steps = sweepSteps(run);
  if (steps.length === 0 || knee === undefined) return null;
  const [from, to] = [knee?.vus, knee?.next].map((vus) => steps.find((step) => step.vus === vus));
  if (!knee || !to) {
    const short = steps.filter((step) => !whole(run, step)).map(({ vus }) => count(vus));
    const but = short.length === 0 ? '' : `, but with ${short.join(', ')} not every message arrived`;
    return `No knee: up to ${plural(steps.at(-1)?.vus ?? 0, 'VU')} arrival p50 did not take off${but}.`;
  }
  if (!from) {
    const most = knee.stage === '' ? '' : `; ${knee.stage} takes longest`;
    return `The knee is below ${plural(to.vus, 'VU')}: ${count(to.backlog)} of ${plural(to.scheduled, 'message')} were owed at the end of that step${most}.`;
  }
  const [before, after] = [from.latency.arrival.p50, to.latency.arrival.p50];
  const then =
    after === null
      ? 'nothing arrives'
      : `arrival p50 goes from ${msUnit(before)} to ${msUnit(after)} and stays up`;
  const grew = knee.stage === '' ? '' : `; ${knee.stage} grows most`;
  return `The knee is at ${plural(from.vus, 'VU')}, ${figure(carried(run, from))} messages/s: with ${count(to.vus)} ${then}${grew}.`;
}

/** Limits on arrival p99: that of this report, and a script's own on k6's Trend, which has the warm-up too. */
const P99_RULES = ['arrival_latency p(99)', 'arrival_p99'];
/** A script that sets no limit to it names one by this figure: a sweep is to go past it. */
const P99_FIGURE = 'limit of arrival p99';

/** The limit that a run sets for arrival p99, ms. */
export function p99Limit(run: Run): number | null {
  const rule = rulesOf(run).find(({ name, op }) => P99_RULES.includes(name) && op.startsWith('<'));
  return rule?.limit ?? run.figures?.find(({ name }) => name === P99_FIGURE)?.value ?? null;
}

/**
 * The highest rate that kept arrival p99 below the limit: of a step of a sweep, or held for some seconds. It is that of the messages that
 * were accepted and arrived, and there is none where some were refused or lost. “At least”: more was not tried.
 */
function heldRate(run: Run): string | null {
  const limit = p99Limit(run);
  if (limit === null) return null;
  const below = (p99: number | null) => p99 != null && p99 < limit;
  const steps = sweepSteps(run);
  if (steps.length > 0) {
    const held = steps.filter((step) => below(step.latency.arrival.p99) && whole(run, step));
    const best = Math.max(0, ...held.map((step) => carried(run, step)));
    const before = Math.max(0, ...steps.slice(0, -1).map((step) => carried(run, step)));
    const grows = held.length === steps.length && best > before * (1 + AS_MUCH);
    return `Highest rate of a step with arrival p99 < ${msUnit(limit)}: ${rateOf(best, grows)}.`;
  }
  const windows = windowsOf(run, below);
  const held = windows.filter(({ kept }) => kept).sort((a, b) => b.rate - a.rate)[0];
  const more = windows.some(({ kept, offered }) => !kept && offered >= (held?.offered ?? 0) * (1 - AS_MUCH));
  return `Highest rate held for ${HELD_SECONDS} s with arrival p99 < ${msUnit(limit)}: ${rateOf(held?.rate ?? 0, !more)}.`;
}

function rateOf(perSecond: number, atLeast: boolean): string {
  return perSecond > 0 ? `${atLeast ? 'at least ' : ''}${figure(perSecond)} messages/s` : 'none';
}

interface Window {
  /** Messages/s: due, and accepted and arrived. */
  offered: number;
  rate: number;
  kept: boolean;
}

/** All stretches of some seconds in measured phases. */
function windowsOf(run: Run, below: (p99: number | null) => boolean): Window[] {
  const { timeline, account } = run;
  const steps = new Map(run.steps.filter((step) => step.measured).map((step) => [step.name, step]));
  // What is lost stays owed: where nothing is owed at the end of a later second, nothing had been lost before.
  const least = timeline.map(({ backlog }) => backlog);
  for (let i = least.length - 2; i >= 0; i--) least[i] = Math.min(least[i] as number, least[i + 1] as number);
  const windows: Window[] = [];
  for (let i = 0; i + HELD_SECONDS <= timeline.length; i++) {
    const seconds = timeline.slice(i, i + HELD_SECONDS);
    const own = seconds.map(({ phase }) => steps.get(phase ?? ''));
    if (own.includes(undefined)) continue;
    const [arrived, accepted] = [mean(seconds.map((s) => s.arrived)), mean(seconds.map((s) => s.accepted))];
    const grew = Math.max(0, (seconds.at(-1)?.backlog ?? 0) - (timeline[i - 1]?.backlog ?? 0));
    const lost = account.pending === 0 && own.some((step) => step && missed(run, step) > 0);
    windows.push({
      offered: mean(seconds.map((s) => s.scheduled)),
      rate: arrived === 0 ? 0 : (accepted * arrived) / (arrived + grew / HELD_SECONDS),
      kept:
        seconds.every((s) => s.rejected === 0 && s.failed === 0 && below(p99Of(s))) &&
        grew <= BACKLOG_SECONDS * arrived &&
        (!lost || least[i + HELD_SECONDS - 1] === 0),
    });
  }
  return windows;
}

/** Arrival p99, ms; null where too few deliveries stand behind it. */
const p99Of = (second: Interval) => percentile(second.arrival ?? { count: 0 }, 'p99');

/** The second with the highest p99, where it stands out. */
function worstSecond({ timeline, latency }: Run): string | null {
  let worst: Interval | null = null;
  for (const second of timeline) if ((p99Of(second) ?? 0) > ((worst && p99Of(worst)) ?? 0)) worst = second;
  const [value, whole] = [worst && p99Of(worst), percentile(latency.arrival, 'p50')];
  if (worst === null || value === null || whole === null || value < 2 * whole) return null;
  const stage = heaviest(worst);
  return `The worst second is ${clock(worst.t)}, with arrival p99 ${msUnit(value)}${stage === null ? '' : `; ${stage.stage} held ${percent(stage.share)} of its mean`}.`;
}

function heaviest({ stages }: Interval): { stage: Stage; share: number } | null {
  if (stages === null) return null;
  const whole = STAGES.reduce((sum, stage) => sum + (stages[stage] ?? 0), 0);
  const stage = STAGES.reduce((a, b) => ((stages[b] ?? 0) > (stages[a] ?? 0) ? b : a));
  return whole > 0 ? { stage, share: (stages[stage] ?? 0) / whole } : null;
}

/** A process that had no core left, and the stage that grew meanwhile. The generator has threads: its check is another. */
function fullCore(run: Run, { process, series }: Resource): string | null {
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
      ? `: the stage that gave way is ${stage}, ${msUnit(was)} before and ${msUnit(is)} then`
      : '; no stage gave way';
  return `${name(process)} used ${FULL_CORE} % of a core or more from ${clock(full.from)} to ${clock(full.to + 1)}${gave}.`;
}

/** A host whose cores were all at work, or taken by its hypervisor: what each process used does not show it. */
function fullHost({ resources }: Run): string | null {
  const figures = resources.find(({ process }) => process === 'host')?.figures;
  if (!figures) return null;
  const { t, bin_s, gauges } = figures;
  const idle = (i: number) => (gauges.id?.[i] ?? 100) + (gauges.wa?.[i] ?? 0);
  const full = longestSpan(
    t.map((start, i) => [start, 100 - idle(i) >= FULL_CORE]),
    bin_s,
  );
  if (full === null) return null;
  return `The host was full from ${clock(full.from)} to ${clock(full.to + bin_s)}: its cores were busy for ${FULL_CORE} % of the time or more, what its hypervisor took included.`;
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
function backlogs({ steps, timeline }: Run): string[] {
  return steps.flatMap((step) => {
    const end = step.start_s + step.duration_s;
    const inside = timeline.filter(({ t }) => t >= step.start_s && t + 1 <= end);
    const [first, last] = [inside[0], inside.at(-1)];
    if (!step.measured || !first || !last || inside.length < HELD_SECONDS) return [];
    const grew = last.backlog - first.backlog;
    if (grew <= BACKLOG_SECONDS * mean(inside.map(({ arrived }) => arrived))) return [];
    return [
      `In “${name(step.name)}” more came than got through: the backlog grew from ${count(first.backlog)} to ${count(last.backlog)} deliveries.`,
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
      `The hypervisor took ${figure(mean(steal))} % of the host's CPU, and ${figure(Math.max(...steal))} % in the worst second: these latencies hold pauses that are nobody's here.`,
    ],
    [
      spent >= MUCH_OF_THE_RUN,
      `In ${percent(spent)} of the run the host was less than ${IDLE} % idle with more than ${count(SWITCHES)} context switches a second: its cores have no more to give.`,
    ],
    [
      bound >= MUCH_OF_THE_RUN,
      `In ${percent(bound)} of the run the host was 40 to 50 % idle with more than ${count(INTERRUPTS)} interrupts a second: look at the network interface, not at the cores.`,
    ],
    [swapped, 'The host swapped: it needs more memory, and these latencies hold disk accesses.'],
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
