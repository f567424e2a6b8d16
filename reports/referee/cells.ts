/** Makes a cell of the runs of each tool under each truth. Pure. */
import jstat from 'jstat';
import {
  type Cell,
  type Factors,
  PERCENTILES,
  type Percentile,
  type Quantiles,
  type RefereeRun,
} from './result.ts';

/**
 * The cells of the table: the medians over the runs that are used.
 * @param due the truths by their names, from due
 */
export function cellsOf(runs: readonly RefereeRun[], due: ReadonlyMap<string, Quantiles>): Cell[] {
  const used = runs.filter((run) => run.used);
  const groups = Object.groupBy(used, ({ tool, truth }) => `${tool} ${truth}`);
  return (Object.values(groups) as [RefereeRun, ...RefereeRun[]][]).map((cell) => {
    const [{ tool, truth }] = cell;
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
  return each((p) => {
    const [said, is] = [reported[`${p}_ms`], truth?.[`${p}_ms`]];
    return said !== undefined && is ? said / is : undefined;
  });
}

function medians(all: readonly Factors[]): Factors {
  return each((p) => {
    const known = all.flatMap((factors) => factors[p] ?? []);
    return known.length > 0 ? jstat.median(known) : undefined;
  });
}

/** The percentiles that have a factor. */
function each(of: (p: Percentile) => number | undefined): Factors {
  const all = PERCENTILES.map((p) => [p, of(p)] as const);
  return Object.fromEntries(all.filter(([, factor]) => factor !== undefined));
}
