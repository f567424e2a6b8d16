/** `npm run workers`: compares 1, 2 and 4 relays, pipelined and serial. */
import { isEntry } from '../../../pipeline/common/entry.ts';
import * as declarations from '../../lib/declarations.js';
import { read } from '../../lib/env.js';
import { runProcess } from '../../run/io.ts';
import { linesOf } from '../../run/usage.ts';
import { campaignCommand } from '../variants.ts';
import { table } from './table.ts';

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

if (isEntry(import.meta)) runProcess(main);
