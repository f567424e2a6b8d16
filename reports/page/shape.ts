/** The question of a run, known by the shape of its load; the first chart answers it. Pure. */
import type { Run, Step } from '../contract/run.ts';
import { sweepSteps } from '../sweep.ts';
import type { Span } from './facts.ts';
import { cells } from './heat.ts';
import { quantile } from './window.ts';

export type Shape = 'sweep' | 'spike' | 'steady' | 'other';

/** A burst is so many times the load before and after it. */
const BURST = 2;
/** Rates of a steady load differ by less. */
const STEADY = 0.05;
/** A steady load in one phase only says nothing about time. */
const LEAST_PHASES = 3;

export function shapeOf(run: Run): Shape {
  if (sweepSteps(run).length > 0) return 'sweep';
  if (run.run.model === 'closed') return 'other';
  if (burstOf(run) !== null) return 'spike';
  const rates = run.steps
    .filter(({ measured }) => measured)
    .map(({ scheduled_per_s }) => scheduled_per_s ?? 0);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  return rates.length >= LEAST_PHASES && least > 0 && most < least * (1 + STEADY) ? 'steady' : 'other';
}

/** The one phase that has more than the phases around it; null: there is none, or several. */
export function burstOf({ steps }: Pick<Run, 'steps'>): Step | null {
  const rate = (step: Step | undefined) => step?.scheduled_per_s ?? 0;
  const bursts = steps.filter((step, i) => {
    const [before, after] = [steps[i - 1], steps[i + 1]];
    if (!before || !after || rate(before) === 0 || rate(after) === 0) return false;
    return rate(step) >= BURST * rate(before) && rate(step) >= BURST * rate(after);
  });
  return bursts.length === 1 ? (bursts[0] ?? null) : null;
}

/** s from the end of a phase until the backlog is back to what it was before it; null: not in this run. */
export function drainOf({ timeline }: Pick<Run, 'timeline'>, burst: Step): number | null {
  const end = burst.start_s + burst.duration_s;
  const before = timeline.filter(({ t }) => t + 1 <= burst.start_s).map(({ backlog }) => backlog);
  const calm = Math.max(0, ...before);
  const back = timeline.find(({ t, backlog }) => t + 1 >= end && backlog <= calm);
  return back === undefined ? null : Math.max(0, back.t + 1 - end);
}

export interface Quarter extends Span {
  /** ms, from bins; null: too few deliveries. */
  p99: number | null;
}

/** The second and the last quarter of the measured phases. The first one is warm-up. */
export function quartersOf({
  steps,
  timeline,
}: Pick<Run, 'steps' | 'timeline'>): [second: Quarter, last: Quarter] {
  const measured = steps.filter((step) => step.measured);
  const start = measured[0]?.start_s ?? 0;
  const last = measured.at(-1);
  const length = last ? last.start_s + last.duration_s - start : 0;
  const quarter = (n: number): Quarter => {
    const span = { start: start + (length * (n - 1)) / 4, end: start + (length * n) / 4 };
    const sums = new Map<number, number>();
    for (const { t, arrival_bins = null } of timeline) {
      if (t + 0.5 < span.start || t + 0.5 >= span.end) continue;
      for (const [bin, count] of cells({ bins: arrival_bins })) sums.set(bin, (sums.get(bin) ?? 0) + count);
    }
    return {
      ...span,
      p99: quantile(
        [...sums].sort(([a], [b]) => a - b),
        0.99,
      ),
    };
  };
  return [quarter(2), quarter(4)];
}
