/** `npm run deployments`: fuzz.js on three deployments of the pipeline, side by side. */
import { isEntry } from '../../pipeline/shared/entry.ts';
import { requireNginx } from '../../pipeline/stack/nginx.ts';
import { ms } from '../../reports/format.ts';
import { Lab } from '../lab/lab.ts';
import { startInNamespace } from '../lab/namespace.ts';
import { PORTS } from '../lab/remote.ts';
import { scripts } from '../lib/declarations.js';
import { runProcess } from '../run/io.ts';
import type { Measured } from '../run/series.ts';
import { linesOf } from '../run/usage.ts';
import { campaignCommand } from './variants.ts';

const HELP = `Runs scenarios/fuzz.js on three deployments of the pipeline, and compares them.

  npm run deployments [-- -e NAME=value …]

  bare         on this host, generator and pipeline on the loopback
  nginx        the same with nginx before two ingests (TOPOLOGY=cluster)
  namespace    pipeline and generator each in its own network namespace, joined by veth, like containers (Linux, root); elsewhere
               it is left out, and the table says why

It writes each run to reports/runs/, and a page that compares the runs to reports/comparisons/. Exit code: 0 when all three were measured
and passed, 99 when not, 1 when the campaign could not go on.

Settings, by -e or in the environment
${linesOf(scripts.fuzz())}`;

async function namespace(dir: string) {
  const refusal = Lab.refusal();
  if (refusal !== null) throw new Error(refusal);
  return startInNamespace(dir, { ...PORTS, TOPOLOGY: 'single' });
}

export const main = campaignCommand({
  name: 'deployments',
  script: 'scenarios/fuzz.js',
  help: HELP,
  owns: ['TOPOLOGY'],
  variants: () => [
    { name: 'bare', env: { TOPOLOGY: 'single', NETWORK: 'loopback' } },
    { name: 'nginx', env: { TOPOLOGY: 'cluster', NETWORK: 'loopback' } },
    { name: 'namespace', env: { TOPOLOGY: 'single', NETWORK: 'namespace' }, place: namespace },
  ],
  require: requireNginx,
  table,
});

const FIGURES = [
  ['average', 'mean'],
  ['max', 'max'],
  ['min', 'min'],
] as const;
const WIDTH = 9;

/** HTTP by concurrency, with the deployments side by side, in ms. A run whose account does not balance has no figures. */
export function table(all: readonly Measured[]): string {
  const row = (head: string, cells: (measured: Measured) => string[]) =>
    `${head.padEnd(12)}${all
      .map((one) =>
        cells(one)
          .map((cell) => cell.padStart(WIDTH))
          .join(''),
      )
      .join('  ')}`;
  const head = `${''.padEnd(12)}${all.map(({ name }) => name.padStart(FIGURES.length * WIDTH)).join('  ')}`;
  const rows = (all[0]?.run.steps ?? []).map(({ name }) =>
    row(name, ({ run }) => {
      const http = run.account.balanced
        ? run.steps.find((step) => step.name === name)?.latency.http
        : undefined;
      return FIGURES.map(([, key]) => ms(http?.[key]));
    }),
  );
  return [head, row('concurrent', () => FIGURES.map(([word]) => word)), ...rows, '(HTTP, ms)'].join('\n');
}

if (isEntry(import.meta)) runProcess(main);
