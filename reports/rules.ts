/** The rules of a run from run.json, to show; they are not judged again. Pure. */

import type { Doubt, Rule, Run } from './contract/run.ts';
import { against, compact, count, exact, ms, shown } from './format.ts';

/** The rule of a name, the worst of several generators; undefined: the run has no such rule. */
export function ruleOf(run: Pick<Run, 'verdict'>, name: string): Rule | undefined {
  const all = run.verdict.rules.filter((rule) => rule.name === name);
  return all.find(({ ok }) => ok === false) ?? all.find(({ ok }) => ok === null) ?? all[0];
}

/** The broken rules on the instrument that put a claim of a run in doubt. */
export function doubting(run: Pick<Run, 'verdict'>, claim: Doubt['claim']): Rule[] {
  return run.verdict.rules.filter(
    ({ ok, doubts }) => ok === false && doubts?.some((one) => one.claim === claim),
  );
}

const SIGNS: Record<string, string> = { '<=': '≤', '>=': '≥', '===': '=', '==': '=', '!=': '≠' };

/** "< 250 ms", as it was set; empty for an unreadable limit, whose name is its text. */
export function limitText({ op, limit, unit, basis }: Rule): string {
  if (limit === null || op === '') return '';
  const counted = ['messages', 'deliveries', 'samples'].includes(unit); // a computed limit may be a fraction
  const number = counted ? count(Math.floor(limit)) : basis === '' ? exact(limit) : ms(limit);
  return `${SIGNS[op] ?? op} ${number} ${unit}`.trim();
}

/** The measured value with its unit; it never reads like a limit that it is not. */
export function measuredText({
  value,
  limit,
  unit,
  basis,
}: Pick<Rule, 'value' | 'limit' | 'unit' | 'basis'>): string {
  return against(value, limit !== null && basis !== '' ? shown(limit) : limit, unit);
}

/** What became of a rule. */
export type State = 'held' | 'did not hold' | 'undecided' | 'in doubt' | 'not judged';

/** The state of a rule, as Go judged it. */
export function stateOf({ ok, undecided, result }: Rule): State {
  if (undecided) return 'undecided';
  if (ok === null) return 'not judged';
  if (ok) return 'held';
  return result === 'doubt' ? 'in doubt' : 'did not hold';
}

/** The readings of a figure in doubt, with its unit: "between 10 and 310 ms"; empty: it is in no doubt. */
export function readingsText({ at_least, at_most, doubted_by = [], unit }: Rule): string {
  if (doubted_by.length === 0) return '';
  const text = (value: number) => `${compact(value)} ${unit}`.trim();
  if (at_least === undefined) return at_most === undefined ? 'any value' : `at most ${text(at_most)}`;
  if (at_most === undefined) return `at least ${text(at_least)}`;
  return `between ${compact(at_least)} and ${text(at_most)}`;
}
