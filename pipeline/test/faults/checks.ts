import { said } from '../../../reports/account.ts';
import { type Count, type End, FAILED, type InDoubt, type Run } from '../../../reports/contract/run.ts';
import { against, exact } from '../../../reports/format.ts';

/** An expectation of a case, and its result. */
export interface Check {
  what: string;
  seen: string;
  ok: boolean;
}

/** Collects expectations of a run and its pipeline. */
export class Checks {
  readonly all: Check[] = [];

  /** Expects that the account balances over at least so many messages, with arrived and `allowed` ends only. */
  account(run: Run, atLeast: number, allowed: readonly End[] = []): this {
    const { balanced, scheduled } = run.account;
    return this.holds('account', balanced ? 'balances' : 'does not balance', balanced)
      .atLeast('scheduled', scheduled, atLeast)
      .none(run, ...FAILED.filter((end) => !allowed.includes(end)));
  }

  /** Expects that these counts are 0. */
  none({ account }: Run, ...counts: Count[]): this {
    for (const count of counts) this.same(said(count), account[count] ?? 0, 0);
    return this;
  }

  atLeast(what: string, value: number, minimum: number): this {
    return this.holds(what, `${against(value, minimum, '')} (≥ ${exact(minimum)})`, value >= minimum);
  }

  atMost(what: string, value: number, maximum: number): this {
    return this.holds(what, `${against(value, maximum, '')} (≤ ${exact(maximum)})`, value <= maximum);
  }

  same(what: string, value: number, expected: number): this {
    return this.holds(what, `${against(value, expected, '')} (= ${exact(expected)})`, value === expected);
  }

  verdict({ verdict }: Run, allowed: readonly Run['verdict']['result'][], reason?: RegExp): this {
    const named = reason === undefined || verdict.reasons.some((text) => reason.test(text));
    return this.holds('verdict', verdict.result, allowed.includes(verdict.result) && named);
  }

  /** Expects that the run says of a claim that it is in doubt. */
  doubted({ facts: { doubts } }: Run, claim: InDoubt['claim']): this {
    const found = doubts.find((one) => one.claim === claim);
    return this.holds(`${claim} in doubt`, found?.text || 'no', found !== undefined);
  }

  holds(what: string, seen: string, ok: boolean): this {
    this.all.push({ what, seen, ok });
    return this;
  }
}
