import { type Tool, times } from '../tool.ts';

export const siege: Tool = {
  name: 'siege',
  title: 'siege',
  model: 'closed',
  why: 'A closed loop. It reports the longest transaction, in steps of 10 ms, and no percentile.',
  install: 'apt-get install --yes siege',
  version: ['siege --version', /SIEGE ([\d.]+)/],
  // It writes its settings to the home directory.
  command: ({ url, loops, seconds }, folder) =>
    `HOME="${folder}" siege --json-output --quiet --benchmark --concurrent=${loops} --time=${seconds}S ${url}`,
  read({ stdout }) {
    const found = JSON.parse(stdout.slice(stdout.lastIndexOf('{'))) as Record<string, number>;
    return {
      ...times([undefined, undefined, undefined, undefined, found.longest_transaction], 0.001),
      requests: { done: found.successful_transactions, failed: found.failed_transactions },
      said: [],
    };
  },
};
