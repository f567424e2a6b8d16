/** Figures of the instrument, each beside the limit that run.json has for it. Pure. */

import { type Gap, type Latency, latencyOf, type Rule, type Run } from '../contract/run.ts';
import { measuredText, ruleOf, rulesOf } from '../rules.ts';
import { balance, crossing, peak, percentile, uncertain } from './facts.ts';
import { compact, count, duration, figure, glued, msUnit, percent, plural } from './format.ts';

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
  /** The name of the rule that it is held against. */
  by?: string;
}

/** @param sound the account balances, so latencies may be shown */
export function checks(run: Run, sound: boolean): Check[] {
  const { account, health } = run;
  const late = run.run.model === 'closed' ? [] : [lateness(run)];
  const own = [
    ...(sound ? late : []),
    cpu(run),
    {
      ...row('dropped', 'messages never sent by the generator', count(account.dropped)),
      ...judged(run, 'dropped'),
    },
    ...(sound ? [socketWait(run)] : []),
    ...canary(run, sound),
    { ...gaps(health.gaps), ...judged(run, 'gaps') },
    {
      ...row('discarded', 'samples that k6 did not take', count(health.samples_discarded)),
      ...judged(run, 'samples_discarded'),
    },
    ...trend(health.trend_one_in),
    negative(run),
    ...(sound ? clockBound(run) : []),
  ];
  return [...own, ...others(run, own)];
}

/** The broken rules on the instrument that have no row of their own. */
function others(run: Run, own: readonly Check[]): Check[] {
  const named = new Set(own.flatMap(({ by }) => by ?? []));
  const left = rulesOf(run).filter(
    ({ name, part, ok, limit, unit }) =>
      (part === 'sending' || part === 'receiving') &&
      ok === false &&
      limit !== null &&
      !named.has(name) &&
      !(unit === 'ms' && !balance(run.account).holds),
  );
  return [...new Set(left.map(({ name }) => name))].map((name) => {
    const rule = ruleOf(run, name) as Rule;
    const figure = measuredText(rule);
    return { ...row(name.replaceAll('_', ' '), '', figure), ...judged(run, name) };
  });
}

/** A row of what no limit is set for. */
function row(what: string, meaning: string, figure: string, more = ''): Check {
  return { what, meaning, figure, more, limit: null, ok: null };
}

/** The limit in run.json; none where the run was not judged by it. */
function judged(run: Run, name: string): Pick<Check, 'limit' | 'rule' | 'ok' | 'by'> {
  const { unit, basis, ok } = ruleOf(run, name) ?? { unit: '', basis: '', ok: null };
  const limit = limitOf(run, name);
  const most = limit === 0 ? 'none' : unit === 'ms' ? msUnit(limit) : limitIn(limit, unit);
  return { limit: limit === null ? null : most, rule: basis, ok, by: name };
}

/** A limit as the table of the rules has it. */
function limitIn(limit: number | null, unit: string): string {
  return limit === null ? '' : glued(`${compact(limit)} ${unit}`).trim();
}

/** Units of figures that several generators have the sum of. */
const SUMMED = new Set(['messages', 'deliveries', 'samples']);

/** The limit beside a figure of the whole run: of counts that of all generators together, in whole ones. */
function limitOf(run: Run, name: string): number | null {
  const worst = ruleOf(run, name);
  if (worst === undefined || worst.limit === null || !SUMMED.has(worst.unit)) return worst?.limit ?? null;
  const own = rulesOf(run).filter((rule) => rule.name === name && rule.generator !== undefined);
  const limits = own.length > 0 ? own.map(({ limit }) => limit ?? 0) : [worst.limit];
  return Math.floor(limits.reduce((sum, limit) => sum + limit, 0));
}

function lateness(run: Run): Check {
  const schedule = latencyOf(run.latency, 'schedule');
  const { lateness = schedule.count === 0 ? null : schedule } = run.health;
  return wait(run, 'lateness', 'lateness', 'due → sent', lateness);
}

function socketWait(run: Run): Check {
  const { arrival_stamps, socket_wait } = run.health;
  const row = wait(run, 'socket_wait', 'socket wait', 'arrived, and not read yet', socket_wait);
  if (arrival_stamps === undefined || arrival_stamps.kernel + arrival_stamps.read === 0) return row;
  const { kernel, read } = arrival_stamps;
  const by = `${plural(kernel, 'arrival')} by the kernel’s stamp, ${count(read)} by the read`;
  return { ...row, more: row.more === undefined ? by : `${by}; ${row.more}` };
}

/** A time that is weighed against the arrival latency. */
function wait(run: Run, name: string, what: string, meaning: string, part: Latency | null): Check {
  const common = { what, meaning, ...judged(run, name) };
  if (part === null) return { ...common, figure: 'not available' };
  const { p99 } = part;
  if (p99 === null) return { ...common, figure: 'no sample yet' };
  const whole = run.latency.arrival.p99;
  const shares = whole !== null && whole > 0 ? `${percent(p99 / whole)} of arrival p99; ` : '';
  return {
    ...common,
    figure: percentile(part, 'p99') === null ? `max ${msUnit(part.max)}` : `p99 ${msUnit(p99)}`,
    more: `${shares}p50 ${msUnit(percentile(part, 'p50'))}, max ${msUnit(part.max)}`,
  };
}

function cpu(run: Run): Check {
  const used = run.timeline.flatMap(({ generator }) => generator?.cpu_percent ?? []);
  const most = peak(run.timeline, ({ generator }) => generator?.cpu_percent ?? null)?.value;
  const rss = peak(run.timeline, ({ generator }) => generator?.rss_mb ?? null)?.value;
  const common = { what: 'CPU', meaning: `of ${run.run.tool.name}, in % of one core`, ...judged(run, 'cpu') };
  if (used.length === 0) return { ...common, figure: 'not available' };
  const mean = used.reduce((sum, value) => sum + value, 0) / used.length;
  const max = `max ${figure(most)}\u00a0%`;
  const busy = ruleOf(run, 'cpu')?.value;
  return {
    ...common,
    figure: `mean ${figure(mean)}\u00a0%${busy == null ? '' : `, too busy in ${count(busy)} of ${count(run.timeline.length)}\u00a0s`}`,
    more: rss === undefined ? max : `${max}; memory at most ${figure(rss)}\u00a0MB`,
  };
}

function canary({ canary: own, latency }: Run, sound: boolean): Check[] {
  if (own === null) return [];
  const p50 = percentile(own.latency, 'p50');
  const whole = percentile(latency.arrival, 'p50');
  const shares = p50 !== null && whole ? `, ${percent(p50 / whole)} of arrival p50` : '';
  const more = sound && own.arrived > 0 ? `p50 ${msUnit(p50)}${shares}; max ${msUnit(own.latency.max)}` : '';
  return [
    row('canary', 'on a connection of its own', `${count(own.arrived)} of ${count(own.sent)} arrived`, more),
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

/** The interval between canary messages. */
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
  const figure = all.length === 0 ? 'none' : count(all.length);
  return row('gaps', 'a subscriber without connection', figure, parts.join('; '));
}

function trend(one_in: number): Check[] {
  if (one_in === 1) return [];
  const more = 'this page is made from histograms, which hold all';
  return [row('k6’s Trend', 'in thresholds', `1 sample in ${count(one_in)}`, more)];
}

function negative(run: Run): Check {
  const { negative, deliveries } = run.account;
  const share = negative > 0 && deliveries.arrived > 0 ? negative / deliveries.arrived : null;
  const more = share === null ? '' : `${percent(share)} of the deliveries`;
  return {
    ...row('negative', 'deliveries with a stage below zero', count(negative), more),
    ...judged(run, 'negative'),
  };
}

function clockBound(run: Run): Check[] {
  const { clock } = run;
  if (clock === null || clock.reference === 'monotonic' || clock.bound_ms === null) return [];
  const marked = crossing(run).some((stage) => uncertain(run, stage));
  const meaning = clock.one_host ? 'one host, one clock' : 'between stamps of two processes';
  const more = marked ? 'stages shorter than ten times as much are marked ±' : '';
  return [
    { ...row('clock bound', meaning, `±${msUnit(clock.bound_ms)}`, more), ...judged(run, 'clock_bound') },
  ];
}
