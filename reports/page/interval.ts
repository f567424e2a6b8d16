/** The range of a run's p99. Pure. */
import type { Run } from '../contract/run.ts';
import { curve, measuredSeconds, percentile } from './facts.ts';
import { binOf, cells } from './heat.ts';

/** Blocks of consecutive seconds, in which what a second has of its neighbours stays together. */
const BLOCKS = 4;
/** The 97.5th percentile of Student's t with 3 degrees of freedom. */
const T = 3.182;
const TAIL = 0.01;

/**
 * The interval of arrival p99: that of Woodruff (1952), the quantiles of the run at the ends of the interval of the share above p99.
 * The variance of that share comes from blocks of seconds, as slow seconds come together.
 * @returns ms; null: the run is too short, or too little of it lies above p99
 */
export function p99Interval(run: Run): [low: number, high: number] | null {
  const p99 = percentile(run.latency.arrival, 'p99');
  const seconds = measuredSeconds(run).filter(({ due_bins }) => due_bins !== undefined);
  if (p99 === null || p99 <= 0 || seconds.length < 5 * BLOCKS) return null;
  // Seconds count their deliveries in bins: how many lie above the edge nearest to p99 varies as much as how many lie above p99.
  const edge = Math.round(binOf(p99));
  const blocks = Array.from({ length: BLOCKS }, () => ({ all: 0, above: 0 }));
  for (const [i, { due_bins = null }] of seconds.entries()) {
    const block = blocks[Math.floor((i * BLOCKS) / seconds.length)] as (typeof blocks)[number];
    for (const [bin, deliveries] of cells({ bins: due_bins })) {
      block.all += deliveries;
      if (bin >= edge) block.above += deliveries;
    }
  }
  const [all, above] = [sum(blocks.map((b) => b.all)), sum(blocks.map((b) => b.above))];
  if (above === 0) return null;
  const spread = sum(blocks.map((b) => (b.above - (above / all) * b.all) ** 2)) * (BLOCKS / (BLOCKS - 1));
  // No less than that of independent deliveries.
  const most = T * TAIL * Math.max(Math.sqrt(spread) / above, Math.sqrt(1 / (TAIL * all)));
  const points = curve(run.latency.arrival);
  const low = at(points, 100 * (1 - TAIL - most)) ?? points[0]?.[1] ?? p99;
  const high = at(points, 100 * (1 - TAIL + most)) ?? run.latency.arrival.max ?? p99;
  return [Math.min(low, p99), Math.max(high, p99)];
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** The value of a percentile of a curve, between its points; null: beyond them. */
function at(points: [percentile: number, ms: number][], p: number): number | null {
  const next = points.findIndex(([of]) => of >= p);
  const [after, before] = [points[next], points[next - 1]];
  if (after === undefined || before === undefined) return null;
  return before[1] + ((after[1] - before[1]) * (p - before[0])) / (after[0] - before[0]);
}
