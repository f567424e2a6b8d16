/**
 * What is known of the instrument, each figure beside its limit. Pure. It explains the verdict and does not make it:
 * the generator has judged by these rules (arrival/judge.go), and its reasons are in run.json.
 */
import type { Gap, Latency, Run } from '../run.ts';
import { crossing, percentile, uncertain } from './facts.ts';
import { count, duration, figure, ms, msUnit, percent, plural } from './format.ts';

/** Of arrival p99: what the generator may be late by, and what may lie in the subscriber's socket. */
const LATE_SHARE = 0.05;
/** ms; below it lateness is the operating system's. */
const LATE_FLOOR = 2;
/** Of its cores the generator may use so much, in all but this share of the seconds. */
const BUSY_SHARE = 0.9;
const BUSY_SECONDS = 0.05;
/** Of the shortest stage between two processes that is not marked. */
const BOUND_SHARE = 0.1;
/** Of the deliveries. */
const NEGATIVE_SHARE = 0.01;

export interface Check {
  what: string;
  meaning: string;
  figure: string;
  more?: string;
  /** null: there is no rule. */
  limit: string | null;
  rule?: string;
  /** null: no rule, or nothing to hold it against. */
  ok: boolean | null;
}

/** @param sound the account balances, so latencies may be shown */
export function checks(run: Run, sound: boolean): Check[] {
  const { account, health, latency } = run;
  const late = run.run.model === 'closed' ? [] : [lateness(run)];
  return [
    ...(sound ? late : []),
    cpu(run),
    amount('dropped', 'messages never sent by the generator', account.dropped),
    ...(sound ? [wait('socket wait', 'arrived, and not yet read', health.socket_wait, latency.arrival)] : []),
    ...canary(run, sound),
    gaps(health.gaps),
    amount('discarded', 'samples that k6 did not take', health.samples_discarded),
    ...trend(health.trend_one_in),
    negative(run),
    ...(sound ? clockBound(run) : []),
  ];
}

function lateness({ health, latency }: Run): Check {
  const { schedule } = latency.stages;
  const { lateness = schedule.count === 0 ? null : schedule } = health;
  return wait('lateness', 'due → sent', lateness, latency.arrival);
}

/** A time that may take up no more than a small part of the arrival latency, or the floor. */
function wait(what: string, meaning: string, part: Latency | null, arrival: Latency): Check {
  const whole = arrival.p99;
  const limit = whole === null ? null : Math.max(LATE_FLOOR, LATE_SHARE * whole);
  const rule = `${percent(LATE_SHARE)} of arrival p99, no less than ${LATE_FLOOR}\u00a0ms`;
  const common = { what, meaning, limit: limit === null ? rule : msUnit(limit), rule };
  if (part === null) return { ...common, figure: 'not available', ok: null };
  const p99 = part.p99;
  if (p99 === null) return { ...common, figure: 'no sample yet', ok: null };
  const shares = whole !== null && whole > 0 ? `${percent(p99 / whole)} of arrival p99; ` : '';
  return {
    ...common,
    figure: percentile(part, 'p99') === null ? `max ${msUnit(part.max)}` : `p99 ${msUnit(p99)}`,
    more: `${shares}p50 ${msUnit(percentile(part, 'p50'))}, max ${msUnit(part.max)}`,
    ok: limit === null ? null : p99 <= limit,
  };
}

function cpu({ timeline, environment, run }: Run): Check {
  const known = timeline.flatMap((second) => second.generator ?? []);
  const used = known.flatMap((g) => g.cpu_percent ?? []);
  const rss = known.flatMap((g) => g.rss_mb ?? []);
  const { gomaxprocs } = environment;
  const cores = typeof gomaxprocs === 'number' ? gomaxprocs : environment.cores;
  const common = { what: 'CPU', meaning: `of ${run.tool.name}, in % of one core` };
  if (used.length === 0) return { ...common, figure: 'not available', limit: null, ok: null };
  const mean = used.reduce((sum, value) => sum + value, 0) / used.length;
  const max = `max ${figure(Math.max(...used))}\u00a0%`;
  const facts = {
    ...common,
    figure: `mean ${figure(mean)}\u00a0%`,
    more: rss.length ? `${max}; memory at most ${figure(Math.max(...rss))}\u00a0MB` : max,
  };
  if (cores === null) return { ...facts, limit: null, ok: null };
  const most = BUSY_SHARE * 100 * cores;
  const busy = used.filter((percentage) => percentage > most).length;
  return {
    ...facts,
    figure: `${facts.figure}, above ${figure(most)}\u00a0% in ${busy} of ${count(timeline.length)}\u00a0s`,
    limit: `${percent(BUSY_SECONDS)} of the seconds`,
    rule: `above ${percent(BUSY_SHARE)} of ${plural(cores, 'core')}`,
    ok: busy <= BUSY_SECONDS * timeline.length,
  };
}

/** Something of which there may be none. */
function amount(what: string, meaning: string, value: number): Check {
  return { what, meaning, figure: count(value), limit: 'none', ok: value === 0 };
}

function canary({ canary: own, latency }: Run, sound: boolean): Check[] {
  if (own === null) return [];
  const p50 = percentile(own.latency, 'p50');
  const whole = percentile(latency.arrival, 'p50');
  const shares = p50 !== null && whole ? `, ${percent(p50 / whole)} of arrival p50` : '';
  return [
    {
      what: 'canary',
      meaning: 'on a connection of its own',
      figure: `${count(own.arrived)} of ${count(own.sent)} arrived`,
      more: sound && own.arrived > 0 ? `p50 ${msUnit(p50)}${shares}; max ${msUnit(own.latency.max)}` : '',
      limit: null,
      ok: null,
    },
  ];
}

/** The canary in a sentence; null where there was none. */
export function canarySentence({ canary: own }: Run): string | null {
  if (own === null || own.sent === 0) return null;
  const { latency } = own;
  const figures =
    own.arrived > 0 ? `, p50 ${msUnit(percentile(latency, 'p50'))}, max ${msUnit(latency.max)}` : '';
  return `Canary: ${count(own.arrived)} of ${count(own.sent)} arrived${figures}.`;
}

/** How often a canary message is sent. */
export function canaryPace(interval_s: number): string {
  return interval_s === 1 ? 'one message a second' : `one message every ${duration(interval_s)}`;
}

function gaps(all: Gap[]): Check {
  const closed = all.flatMap(({ from_s, to_s }) => (to_s === null ? [] : [to_s - from_s]));
  const open = all.length - closed.length;
  const parts = [
    ...(closed.length > 0 ? [`${duration(closed.reduce((sum, s) => sum + s, 0))} in all`] : []),
    ...(open > 0 ? [`${count(open)} without end`] : []),
  ];
  return {
    what: 'gaps',
    meaning: 'a subscriber without connection',
    figure: all.length === 0 ? 'none' : count(all.length),
    more: parts.join('; '),
    limit: 'none',
    ok: all.length === 0,
  };
}

function trend(one_in: number): Check[] {
  if (one_in === 1) return [];
  const more = 'this page is made from histograms, which hold all';
  return [
    {
      what: 'k6’s Trend',
      meaning: 'in thresholds',
      figure: `1 sample in ${count(one_in)}`,
      more,
      limit: null,
      ok: null,
    },
  ];
}

function negative({ account }: Run): Check {
  const { arrived } = account.deliveries;
  return {
    what: 'negative',
    meaning: 'deliveries with a stage below zero',
    figure: count(account.negative),
    more:
      account.negative > 0 && arrived > 0 ? `${percent(account.negative / arrived)} of the deliveries` : '',
    limit: count(Math.floor(NEGATIVE_SHARE * arrived)),
    rule: `${percent(NEGATIVE_SHARE)} of the deliveries`,
    ok: account.negative <= NEGATIVE_SHARE * arrived,
  };
}

function clockBound(run: Run): Check[] {
  const { clock } = run;
  if (clock === null || clock.reference === 'monotonic' || clock.bound_ms === null) return [];
  const { bound_ms, limit_ms } = clock;
  const sure = crossing(run).filter((stage) => !uncertain(run, stage));
  const shortest = sure.reduce(
    (least, stage) => Math.min(least, run.latency.stages[stage].p50 ?? least),
    Number.POSITIVE_INFINITY,
  );
  // One host has one clock: there the bound says only how well that could be proven.
  const judged = Number.isFinite(shortest) && !clock.one_host;
  const limits = [...(judged ? [BOUND_SHARE * shortest] : []), ...(limit_ms === null ? [] : [limit_ms])];
  const rules = [
    ...(judged ? [`${percent(BOUND_SHARE)} of the shortest p50 between processes`] : []),
    ...(limit_ms === null ? [] : [`set: ${msUnit(limit_ms)}`]),
  ];
  return [
    {
      what: 'clock bound',
      meaning: clock.one_host ? 'one host, one clock' : 'between stamps of two processes',
      figure: `±${msUnit(bound_ms)}`,
      more: sure.length < crossing(run).length ? 'shorter stages are marked ≈' : '',
      limit: limits.length ? `${ms(Math.min(...limits))}\u00a0ms` : null,
      rule: rules.join('; '),
      ok: limits.length ? bound_ms <= Math.min(...limits) : null,
    },
  ];
}
