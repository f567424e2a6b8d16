/** The table of npm run workers. Pure. */
import { availableParallelism } from 'node:os';
import type { Run, Step } from '../../../reports/contract/run.ts';
import { count, figure, ms } from '../../../reports/format.ts';
import { sweepSteps } from '../../../reports/sweep.ts';
import type { Measured } from '../../run/series.ts';
import { aligned } from '../../run/table.ts';

/** A row for each run: the step that carried the most messages, and the knee. */
export function table(all: readonly Measured[], cores = availableParallelism()): string {
  const rows = all.map(({ name, run }) => {
    const best = bestOf(run);
    const { p50, p99 } = best?.latency.arrival ?? {};
    return [
      ...name.split(' '),
      best ? figure(best.carried_per_s) : '–',
      best ? count(best.vus) : '–',
      ms(p50),
      ms(p99),
      best ? relays(best.cpu_percent) : '–',
      run.knee ? count(run.knee.vus) : '–',
      run.verdict.result,
    ];
  });
  const head = [
    'relays',
    'mode',
    'messages/s',
    'VUs',
    'arrival p50',
    'p99',
    'relay CPU %',
    'knee',
    'verdict',
  ];
  return `${aligned([head, ...rows], 2)}\n(the step of each sweep that carried the most, on ${cores} cores; ms)`;
}

/** The step that carried the most messages. */
function bestOf(run: Run): Step | undefined {
  const steps = run.account.balanced ? sweepSteps(run) : [];
  return steps.sort((a, b) => b.carried_per_s - a.carried_per_s)[0];
}

/** CPU of all relays, % of a core. */
function relays(cpu: Record<string, number> | null | undefined): string {
  const own = Object.entries(cpu ?? {}).filter(([name]) => name.startsWith('relay'));
  return own.length === 0 ? '–' : figure(own.reduce((sum, [, percent]) => sum + percent, 0));
}
