/** `npm run workers`: compares 1, 2 and 4 relays, pipelined and serial. */

import { availableParallelism } from 'node:os';
import { isEntry } from '../../pipeline/shared/entry.ts';
import type { Run, Step } from '../../reports/contract/run.ts';
import { count, figure, ms } from '../../reports/format.ts';
import { sweepSteps } from '../../reports/sweep.ts';
import * as declarations from '../lib/declarations.js';
import { read } from '../lib/env.js';
import { runProcess } from '../run/io.ts';
import type { Measured } from '../run/series.ts';
import { aligned } from '../run/table.ts';
import { linesOf } from '../run/usage.ts';
import { campaignCommand } from './variants.ts';

const MODES = ['pipelined', 'serial'] as const;

const HELP = `Runs a sweep of concurrency (scenarios/sweep.js) with 1, 2 and 4 relays in each mode: pipelined, with many messages in flight, and
serial, with one.

  npm run workers [-- -e NAME=value …]

It writes each run to reports/runs/, prints a table, and writes a page that compares the runs to reports/comparisons/. Exit code: 0 when
every run passed, 99 when one did not, 1 when the campaign could not go on.

Settings, by -e or in the environment
${linesOf({ ...declarations.workers(), ...declarations.scripts.sweep() })}`;

export const main = campaignCommand({
  name: 'workers',
  script: 'scenarios/sweep.js',
  help: HELP,
  owns: ['RELAY_WORKERS', 'RELAY_MODE'],
  settings: ['RELAYS'],
  variants: (env) =>
    MODES.flatMap((mode) =>
      (read(declarations.workers(), env).RELAYS as number[]).map((relays) => ({
        name: `${relays} ${mode}`,
        env: {
          RELAY_WORKERS: `${relays}`,
          RELAY_MODE: mode,
          LABELS: `relays=${relays},mode=${mode}`,
        },
      })),
    ),
  table,
});

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

if (isEntry(import.meta)) runProcess(main);
