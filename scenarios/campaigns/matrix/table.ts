/** The table of a matrix: mean and spread of each cell. Pure. */
import { printable } from '../../../pipeline/shared/printable.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { aligned, spread } from '../../run/table.ts';

/** One run of a cell. */
export interface Result {
  topology: string;
  network: string;
  /** The directory of the run. */
  dir: string;
  verdict: Run['verdict']['result'];
  /** The first reason of a verdict other than `pass`. */
  reason?: string;
  /** The highest requests per second that it held, with --capacity. */
  rate?: number;
  /** A higher rate may hold too: the generator, the network or --highest limited the search. */
  least?: true;
  /** A latency, ms; null: not known. */
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
    missing: run.facts.not_arrived?.messages ?? 0,
  };
}

/** Words one result in a line. */
export function line({ topology, network, rate, least, ...result }: Result): string {
  const { verdict, reason, p50, p99, http_p50, missing } = result;
  const held = rate === undefined ? '' : `${least ? 'at least ' : ''}${rate} requests/s  `;
  const ms = (value: number | null) => spread([value]).padStart(7);
  const why = reason === undefined ? '' : `: ${printable(reason)}`;
  const lost = missing > 0 ? `, ${missing} messages missing` : '';
  return `${topology.padEnd(8)} ${network.padEnd(9)} ${held}arrival p50${ms(p50)} p99${ms(p99)} HTTP p50${ms(http_p50)} ms  ${verdict}${lost}${why}`;
}

/** A row for each cell, in the order of the first runs. Invalid and incomplete runs count only in `runs`. */
export function table(results: readonly Result[]): string {
  const cells = Object.values(
    Object.groupBy(results, ({ topology, network }) => `${topology} ${network}`),
  ) as Result[][];
  const found = results.some(({ rate }) => rate !== undefined);
  const rows = cells.map((cell) => {
    // A late generator makes a rate harder to hold, so a rate that held counts.
    const sound = cell.filter(
      ({ verdict, rate = 0 }) => verdict === 'pass' || verdict === 'fail' || rate > 0,
    );
    const rates = sound.flatMap(({ rate }) => rate ?? []);
    const [{ topology, network }] = cell as [Result];
    return [
      topology,
      network,
      ...(found ? [`${cell.some(({ least }) => least) ? '≥ ' : ''}${spread(rates)}`] : []),
      spread(sound.map(({ p50 }) => p50)),
      spread(sound.map(({ p99 }) => p99)),
      spread(sound.map(({ http_p50 }) => http_p50)),
      String(cell.reduce((sum, { missing }) => sum + missing, 0)),
      `${sound.length} of ${cell.length}`,
    ];
  });
  const rate = found ? ['requests/s'] : [];
  const all = [
    ['topology', 'network', ...rate, 'arrival p50', 'p99', 'HTTP p50', 'missing', 'runs counted'],
    ...rows,
  ];
  return `${aligned(all, 2)}\n(ms, mean ± standard deviation over the runs of a cell)`;
}
