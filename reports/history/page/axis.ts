/** Names of the lines, and range of the axis, of the chart of p99 by run. Pure. */
import { duration } from '../../format.ts';
import type { Point } from '../entry.ts';

/** So many times the next lower value is out of sight of the others. */
const FAR = 3;
const FEWEST = 4;

/** The highest value that the axis shows: without the few that are far above all others, at most a tenth. */
export function topOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => b - a);
  const most = sorted.length < FEWEST ? 0 : Math.max(1, Math.floor(sorted.length / 10));
  for (let left = most; left > 0; left--) {
    const [low = 0, high = 0] = [sorted[left], sorted[left - 1]];
    if (low > 0 && high > FAR * low) return low;
  }
  return sorted[0] ?? 0;
}

/** A name for each load, by its differences from the others: 300 requests/s for 7 s, cluster. */
export function namesOf(points: readonly Point[]): Map<string, string> {
  const firsts = [...new Map(points.map((point) => [point.like, point])).values()];
  const words = (point: Point, all: boolean) => {
    const { load, planned, topology, network } = point;
    const plan = [load, planned === null ? '' : duration(planned)]
      .filter((text) => text !== '')
      .join(' for ');
    return (all ? [plan, topology, network] : [plan]).filter((text) => text !== '').join(', ');
  };
  const taken = new Map<string, number>();
  return new Map(
    firsts.map((point) => {
      const alike = firsts.filter((other) => words(other, false) === words(point, false)).length > 1;
      const name = words(point, alike) || 'unknown load';
      const nth = (taken.get(name) ?? 0) + 1;
      taken.set(name, nth);
      // Another load may have the same rate and length, but other phases or flows.
      return [point.like, nth === 1 ? name : `${name} (plan ${nth})`];
    }),
  );
}
