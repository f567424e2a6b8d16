/** The rules that a run was judged by, as run.json has them: they are shown, and never judged again. Pure. */

import type { Rule, Run } from './contract/run.ts';
import { ms } from './page/format.ts';

/** In the order of the judge. A run of an earlier version has thresholds, without what was measured. */
export function rulesOf({ verdict, thresholds = [] }: Pick<Run, 'verdict' | 'thresholds'>): Rule[] {
  return verdict.rules ?? thresholds.map(ofThreshold);
}

function ofThreshold({ metric, expression, ok }: NonNullable<Run['thresholds']>[number]): Rule {
  const rule = { value: null, ok, result: 'fail', basis: '', reason: '' } as const;
  const [, how, op = '', set] = /^\s*(.+?)\s*([<>=!]=*)\s*(\S+)\s*$/.exec(expression) ?? [];
  const limit = Number(set);
  // As internal/report has it: a limit that can't be read is one all the same.
  if (!Number.isFinite(limit))
    return { ...rule, name: `${metric}: ${expression}`, op: '', limit: 0, unit: '' };
  const name = how === 'count' || how === 'value' ? metric : `${metric} ${how}`;
  const unit = /^(arrival_latency|arrival_p99|http_req_duration)/.test(metric) ? 'ms' : '';
  return { ...rule, name, op: op as Rule['op'], limit, unit };
}

/** The rule of a name, of several generators the worst; undefined: the run was not judged by it. */
export function ruleOf(run: Pick<Run, 'verdict' | 'thresholds'>, name: string): Rule | undefined {
  const all = rulesOf(run).filter((rule) => rule.name === name);
  return all.find(({ ok }) => ok === false) ?? all.find(({ ok }) => ok === null) ?? all[0];
}

/** Whether a limit was set that nobody judged. */
export function isOpen({ ok, limit }: Rule): boolean {
  return ok === null && limit !== null;
}

/** As internal/report writes it: "arrival_p99 < 250 ms". */
export function limited(rule: Rule): string {
  const who = rule.generator === undefined ? '' : `generator ${rule.generator}: `;
  const limit = limitText(rule);
  return `${who}${rule.name}${limit === '' ? '' : ` ${limit}`}`;
}

const SIGNS: Record<string, string> = { '<=': '≤', '>=': '≥', '===': '=', '==': '=', '!=': '≠' };

/** "< 250 ms". One that was set stands as it was set; of one that can't be read the name has all. */
export function limitText({ op, limit, unit, basis }: Rule): string {
  if (limit === null || op === '') return '';
  const number = basis === '' ? limit.toLocaleString('en-US', { maximumFractionDigits: 20 }) : ms(limit);
  return `${SIGNS[op] ?? op} ${number} ${unit}`.trim();
}
