import { type Account, COUNTS, ENDS, type End, FAILED, MISSED } from './contract/run.ts';
import { count } from './format.ts';

interface Missed {
  end: End;
  count: number;
}

/** What did not arrive, by its end, in the order of the message's way. */
export function missedOf(account: Account): Missed[] {
  return MISSED.map((end) => ({ end, count: account[end] })).filter(({ count }) => count > 0);
}

/** 900 rejected, 3 lost; null: all messages arrived. The latencies and rates of a run with losses are those of the rest. */
export function failures(account: Account): string | null {
  const named = FAILED.filter((end) => account[end] > 0).map((end) => `${count(account[end])} ${said(end)}`);
  return named.length > 0 ? named.join(', ') : null;
}

/** 1,000 scheduled = 97 arrived + 900 rejected + 3 lost, without the ends of none. */
export function equation(account: Account): string {
  const ends = ENDS.filter((end) => account[end] > 0).map((end) => `${count(account[end])} ${said(end)}`);
  return `${count(account.scheduled)} scheduled ${account.balanced ? '=' : '≠'} ${ends.join(' + ') || '0'}`;
}

/** An end as a word: dead-lettered. */
export const said = (end: string) => end.replaceAll('_', '-');

/** Counts added. It balances where each part's does. */
export function sumOfAccounts(all: readonly Account[]): Account {
  const sum = (of: (account: Account) => number) => all.reduce((total, account) => total + of(account), 0);
  return {
    ...(Object.fromEntries(
      COUNTS.map((name) => [name, sum((account) => account[name])]),
    ) as unknown as Account),
    balanced: all.every(({ balanced }) => balanced),
    requests: {
      scheduled: sum(({ requests }) => requests.scheduled),
      sent: sum(({ requests }) => requests.sent),
      retried: sum(({ requests }) => requests.retried),
      failed: sum(({ requests }) => requests.failed),
    },
    deliveries: {
      due: sum(({ deliveries }) => deliveries.due),
      arrived: sum(({ deliveries }) => deliveries.arrived),
      missing: sum(({ deliveries }) => deliveries.missing),
    },
  };
}
