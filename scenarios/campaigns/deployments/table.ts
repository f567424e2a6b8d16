import { ms } from '../../../reports/format.ts';
import type { Measured } from '../../run/series.ts';

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
