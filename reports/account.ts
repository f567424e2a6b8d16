import { type Account, ENDS } from './run.ts';

/** Counts added. It balances where each part's does. */
export function sumOfAccounts(all: readonly Account[]): Account {
  const sum = (of: (account: Account) => number) => all.reduce((total, account) => total + of(account), 0);
  const counts = [...ENDS, 'scheduled', 'duplicates', 'reordered', 'negative', 'foreign'] as const;
  return {
    ...(Object.fromEntries(
      counts.map((name) => [name, sum((account) => account[name])]),
    ) as unknown as Account),
    balanced: all.every(({ balanced }) => balanced),
    requests: {
      scheduled: sum(({ requests }) => requests.scheduled),
      sent: sum(({ requests }) => requests.sent),
      retried: sum(({ requests }) => requests.retried),
    },
    deliveries: {
      due: sum(({ deliveries }) => deliveries.due),
      arrived: sum(({ deliveries }) => deliveries.arrived),
      missing: sum(({ deliveries }) => deliveries.missing),
    },
  };
}
