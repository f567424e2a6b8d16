/** What the runs of all tools come to. Pure. */
import {
  type Cell,
  type Factors,
  PERCENTILES,
  type Quantiles,
  type RefereeRun,
} from '../../../reports/referee/result.ts';

/** The cells of the table: the medians over the runs that are used. */
export function cellsOf(runs: readonly RefereeRun[], due: ReadonlyMap<string, Quantiles>): Cell[] {
  const used = Object.values(
    Object.groupBy(
      runs.filter((run) => run.used),
      ({ tool, truth }) => `${tool} ${truth}`,
    ),
  ) as RefereeRun[][];
  return used.map((cell) => {
    const [{ tool, truth }] = cell as [RefereeRun];
    const fromDue = cell.map(({ reported }) => factorsOf(reported, due.get(truth)));
    const p99 = fromDue.flatMap((factors) => factors.p99 ?? []);
    return {
      ...{ tool, truth, runs: cell.length },
      due: medians(fromDue),
      served: medians(cell.map(({ reported, served }) => factorsOf(reported, served))),
      ...(p99.length > 1 && { low: Math.min(...p99), high: Math.max(...p99) }),
    };
  });
}

/** By what factor each percentile is off. */
function factorsOf(reported: RefereeRun['reported'], truth: Quantiles | undefined): Factors {
  return Object.fromEntries(
    PERCENTILES.flatMap((p) => {
      const [said, is] = [reported[`${p}_ms`], truth?.[`${p}_ms`]];
      return said === undefined || !is ? [] : [[p, said / is]];
    }),
  );
}

function medians(all: readonly Factors[]): Factors {
  return Object.fromEntries(
    PERCENTILES.flatMap((p) => {
      const sorted = all.flatMap((factors) => factors[p] ?? []).sort((a, b) => a - b);
      const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
      return middle.length === 0 ? [] : [[p, middle.reduce((a, b) => a + b) / middle.length]];
    }),
  );
}
