/** What a figure may be, whatever the instrument did: the claims of its run that are in doubt, and in which direction. Pure. */
import type { InDoubt, Rule, Run, VerdictResult } from '../contract/run.ts';
import { ruleOf } from '../rules.ts';
import type { Measure } from './measures.ts';
import type { Group } from './recording.ts';

/** The least and the most that a figure may be, as shares of it: 1 and 1 where it is not in doubt. */
export interface Reach {
  least: number;
  most: number;
  /** The rules that put it in doubt, in words; empty: it is not. */
  by: string[];
}

const SURE: Reach = { least: 1, most: 1, by: [] };

/** What says whether a run can be used: a run, or its summary. */
interface Judged {
  verdict: Pick<Run['verdict'], 'result'>;
  facts: Pick<Run['facts'], 'doubts'>;
}

/** Whether nothing of a run can be used: a doubt about everything, or one that nobody knows. */
export function isUnusable({ verdict, facts }: Judged): boolean {
  if (verdict.result !== 'invalid') return false;
  const account = facts.doubts.find(({ claim }) => claim === 'account');
  return facts.doubts.length === 0 || account?.direction === 'either';
}

/** Whether a run left a limit undecided, though some of its figures stand. */
export function isUndecided(run: Judged): boolean {
  return run.verdict.result === 'invalid' && !isUnusable(run);
}

/** A verdict in a word. */
export function verdictText({ verdict, undecided }: { verdict: VerdictResult; undecided?: boolean }) {
  return undecided ? 'undecided' : verdict;
}

/** A sign before a figure that is in doubt: at most, at least, or about so high; empty: it is not. */
export function signOf(direction: InDoubt['direction'] | null | undefined): string {
  return direction == null ? '' : { too_high: '≤ ', too_low: '≥ ', either: '≈ ' }[direction];
}

/** The claim that a figure is part of; undefined: the generator cannot put it in doubt. */
function claimOf({ name, kind, spans }: Measure): InDoubt['claim'] | undefined {
  const [series = ''] = name.split('.');
  if (spans !== undefined || kind === 'rate' || ['canary', 'schedule'].includes(series)) return undefined;
  if (kind === 'count') return name === 'account.lost' ? 'account' : undefined;
  if (series === 'arrival' || series === 'from_send') return 'arrival';
  return series === 'http' ? 'http' : 'stages';
}

/** What a figure of a run may be. */
export function reachOf(run: Run, measure: Measure): Reach {
  const claim = claimOf(measure);
  const doubt = run.facts.doubts.find((one) => one.claim === claim);
  const value = measure.of(run);
  if (doubt === undefined || value === null) return SURE;
  const by = doubt.by.map((name) => name.replaceAll('_', ' '));
  const judged = judgedReach(run, measure, value);
  if (judged !== undefined) return { ...judged, by };
  // A late generator may send in bursts, so latencies from the send may be too high or too low.
  const direction = measure.name.startsWith('from_send') ? 'either' : doubt.direction;
  // A share within a limit is too low where latencies are too high.
  const [low, high] = measure.kind === 'share' ? ['too_low', 'too_high'] : ['too_high', 'too_low'];
  const most = measure.kind === 'share' ? 1 / value : Infinity;
  return { least: direction === high ? 1 : 0, most: direction === low ? 1 : most, by };
}

/** The readings of a limit on the same figure; undefined: there is none. */
function judgedReach(run: Run, { name, kind, limit }: Measure, value: number) {
  const rule = ruleOf(run, name === 'arrival.p99' ? 'arrival_p99' : kind === 'share' ? within(limit) : '');
  if (rule?.doubted_by === undefined || value <= 0) return undefined;
  const scale = kind === 'share' ? 100 : 1;
  const share = (end: Rule['at_least'], none: number) => (end === undefined ? none : end / scale / value);
  return {
    least: share(rule.at_least, 0),
    most: share(rule.at_most, kind === 'share' ? 1 / value : Infinity),
  };
}

function within(limit = 0): string {
  return limit % 1 === 0 ? `arrival_within_${limit}ms` : `arrival_within_${Math.round(limit * 1000)}us`;
}

/** What a figure of repeats may be: the geometric mean of the shares. */
export function reachOfGroup(group: Group, measure: Measure): Reach {
  const all = group.map(({ run }) => reachOf(run, measure));
  const mean = (of: (reach: Reach) => number) =>
    all.reduce((product, reach) => product * of(reach) ** (1 / all.length), 1);
  return {
    least: mean(({ least }) => least),
    most: mean(({ most }) => most),
    by: [...new Set(all.flatMap(({ by }) => by))],
  };
}

/** The least and the most that a value may be; open ends are infinite. */
export interface Bounds {
  low: number;
  high: number;
}

/** An end of what a figure may be. @param by a share of it */
export function end({ kind }: Measure, value: number, by: number): number {
  if (by === Infinity) return kind === 'share' ? 1 : by; // a multiple of 0 would be 0
  return value * by;
}

/** What the difference of two groups may be, whatever the instrument did. */
export function doubtOf(baseline: Group, other: Group, measure: Measure) {
  const [a, b] = [reachOfGroup(baseline, measure), reachOfGroup(other, measure)];
  return {
    /** The rules that put it in doubt. */
    by: [...new Set([...a.by, ...b.by])],
    /** Relative differences. */
    around: ({ low, high }: Bounds): Bounds => ({
      low: (1 + low) * (b.least / a.most) - 1,
      high: (1 + high) * (b.most / a.least) - 1,
    }),
    /** The absolute difference of two figures. */
    between: (before: number, after: number): Bounds => ({
      low: end(measure, after, b.least) - end(measure, before, a.most),
      high: end(measure, after, b.most) - end(measure, before, a.least),
    }),
  };
}
