/** What a matrix found, in a table: mean and spread of each cell. Pure. */
import { printable } from '../../../pipeline/common/printable.ts';
import type { Run } from '../../../reports/contract/run.ts';

/** One run of a cell. */
export interface Result {
  topology: string;
  network: string;
  /** The directory of the run. */
  dir: string;
  verdict: Run['verdict']['result'];
  /** The first reason why it is not `pass`. */
  reason?: string;
  /** ms; null: not known. */
  p50: number | null;
  p99: number | null;
  http_p50: number | null;
  /** Messages that did not arrive. */
  missing: number;
}

export function resultOf(run: Run, dir: string): Result {
  const { arrival, http } = run.latency;
  const [reason] = run.verdict.reasons;
  return {
    topology: run.run.topology,
    network: run.run.network,
    dir,
    verdict: run.verdict.result,
    ...(reason !== undefined && { reason }),
    p50: arrival.p50,
    p99: arrival.p99,
    http_p50: http.p50,
    missing: run.account.scheduled - run.account.arrived,
  };
}

/** A mean and the sample's standard deviation, of what is known; a spread of one value is not known. */
export function meanAndSpread(values: readonly (number | null)[]): { mean: number; spread: number } {
  const known = values.filter((value) => value !== null);
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const squares = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, spread: known.length > 1 ? Math.sqrt(squares / (known.length - 1)) : Number.NaN };
}

/** A figure with its spread, three significant digits; `n/a` where nothing is known. */
function told(values: readonly (number | null)[]): string {
  const { mean, spread } = meanAndSpread(values);
  if (Number.isNaN(mean)) return 'n/a';
  const digits = mean >= 100 ? 0 : mean >= 10 ? 1 : mean >= 1 ? 2 : 3;
  return Number.isNaN(spread) ? mean.toFixed(digits) : `${mean.toFixed(digits)} ± ${spread.toFixed(digits)}`;
}

/** One result in a line. */
export function line({ topology, network, verdict, reason, p50, p99, http_p50, missing }: Result): string {
  const ms = (value: number | null) => told([value]).padStart(7);
  const why = reason === undefined ? '' : `: ${printable(reason)}`;
  const lost = missing > 0 ? `, ${missing} messages missing` : '';
  return `${topology.padEnd(8)} ${network.padEnd(9)} arrival p50${ms(p50)} p99${ms(p99)} HTTP p50${ms(http_p50)} ms  ${verdict}${lost}${why}`;
}

/** A row for each cell, in the order in which they come first. Runs that are invalid or incomplete count in `runs` alone. */
export function table(results: readonly Result[]): string {
  const cells = Object.values(
    Object.groupBy(results, ({ topology, network }) => `${topology} ${network}`),
  ) as Result[][];
  const rows = cells.map((cell) => {
    const sound = cell.filter(({ verdict }) => verdict === 'pass' || verdict === 'fail');
    const [{ topology, network }] = cell as [Result];
    return [
      topology,
      network,
      told(sound.map(({ p50 }) => p50)),
      told(sound.map(({ p99 }) => p99)),
      told(sound.map(({ http_p50 }) => http_p50)),
      String(cell.reduce((sum, { missing }) => sum + missing, 0)),
      `${sound.length} of ${cell.length}`,
    ];
  });
  const all = [['topology', 'network', 'arrival p50', 'p99', 'HTTP p50', 'missing', 'runs counted'], ...rows];
  const widths = (all[0] as string[]).map((_, i) => Math.max(...all.map((row) => (row[i] as string).length)));
  const lines = all.map((row) =>
    row
      .map((cell, i) => (i < 2 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number)))
      .join('  '),
  );
  return `${lines.join('\n')}\n(ms, mean ± standard deviation over the runs of a cell)`;
}
