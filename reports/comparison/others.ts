/** Other work on the machine of two single runs, and what it may explain. Pure. */
import type { Run } from '../contract/run.ts';
import { measuredSeconds } from '../page/facts.ts';
import type { Group } from './recording.ts';
import { perSecond } from './seconds.ts';

/** The fewest seconds of a run that chance sets apart from as many of another in less than 1 % of the pairs: in 2 / C(10, 5). */
const LEAST_SECONDS = 5;

/**
 * Why a difference of two single runs may be that of other work on their machine; null: it is not. How much runs differ by other work only
 * repeats show (Kalibera and Jones 2013: an interval from one execution lacks what differs between executions), and it comes and goes: a
 * difference of all seconds of one run from all of the other is not from there, if others took as much beside some seconds of both (common
 * support: Rosenbaum and Rubin 1983).
 */
export function besideOthers(baseline: Group, other: Group, name: string): string | null {
  const [[a], [b]] = [baseline, other];
  if (baseline.length > 1 || other.length > 1 || !a || !b) return null;
  const work = b.run.facts.disturbed ?? a.run.facts.disturbed;
  if (work === null) return null;
  const [series = '', statistic = ''] = name.split('.');
  const [some, others] = [a, b].map(({ run }) =>
    measuredSeconds(run).flatMap(({ t }) => perSecond(run, t, series, statistic) ?? []),
  ) as [number[], number[]];
  const [one, two] = [a, b].map(({ run }) => othersOf(run)) as [number[], number[]];
  if (areApart(some, others) && !areApart(one, two)) return null;
  return `it may be from other work on the machine: ${work}; only repeats show how much that varies`;
}

/** Reports whether all values of one side are beyond all of the other, and there are enough of them. */
export function areApart(some: readonly number[], others: readonly number[]): boolean {
  if (Math.min(some.length, others.length) < LEAST_SECONDS) return false;
  return Math.max(...some) < Math.min(...others) || Math.max(...others) < Math.min(...some);
}

/** Returns how much others took of the CPU of the generator's host in each measured second, %, where it is known. The run's own share is a mean. */
function othersOf(run: Run): number[] {
  const { cores, shared_host } = run.environment;
  return run.steps.flatMap(({ measured, start_s, duration_s, cpu_percent }) => {
    const processes = Object.entries(cpu_percent ?? {}).filter(([name]) =>
      shared_host === true ? name !== 'host' : name === 'k6',
    );
    const own = processes.reduce((sum, [, percent]) => sum + percent, 0) / (cores ?? 1);
    const seconds = measured ? run.timeline.slice(Math.ceil(start_s), Math.floor(start_s + duration_s)) : [];
    return seconds.flatMap(({ generator }) => {
      const all = generator?.host_percent;
      return all == null ? [] : [all - own];
    });
  });
}
