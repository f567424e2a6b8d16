/** Judges whether a run held its rate, by its own verdict. Pure. */
import type { Run } from '../../../reports/contract/run.ts';
import { doubting } from '../../../reports/rules.ts';
import type { Outcome } from './search.ts';

/** The judgement of a probe. */
export interface Judgement {
  outcome: Outcome;
  /** Why it is not held, in a few words; empty: it is. */
  why: string;
}

/**
 * Judges whether a run held its rate. A run that failed is undecided where others took the CPU that it lacked; one that passes is,
 * where its rate was not really offered.
 */
export function judge(run: Run): Judgement {
  const { result, meaning, reasons } = run.verdict;
  const disturbed = run.facts.disturbed;
  if (result === 'fail')
    return disturbed === null
      ? { outcome: 'not held', why: meaning }
      : { outcome: 'undecided', why: `${meaning}; ${disturbed}` };
  if (result !== 'pass')
    return { outcome: 'undecided', why: (reasons[0] ?? meaning).replace(/^undecided: /, '') };
  const [offered] = doubting(run, 'load');
  return offered === undefined
    ? { outcome: 'held', why: '' }
    : { outcome: 'undecided', why: offered.reason || offered.name };
}
