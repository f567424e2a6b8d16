/** A sweep of concurrency: its points, and where it turns. */
import { type Latencies, type Run, STAGES, type Stage, type Step } from './run.ts';

/**
 * How many times the lowest p50 a step's p50 must exceed to have taken off.
 * internal/report/knee.go has the same rule; both are tested against sweep.vectors.json.
 */
export const TAKE_OFF = 5;

/** The measured steps of the closed model by ascending concurrency; empty where there are fewer than two of them. */
export function sweepSteps(run: Run): (Step & { vus: number })[] {
  const steps = run.steps.filter(
    (step): step is Step & { vus: number } => step.measured && step.vus !== null && step.vus > 0,
  );
  const several = new Set(steps.map((step) => step.vus)).size > 1;
  return several ? steps.sort((a, b) => a.vus - b.vus) : [];
}

/**
 * The knee: the last point before p50 takes off for good.
 * @param p50s ms, by ascending concurrency; null: nothing arrived
 * @returns its index; null if the last point has not taken off
 */
export function knee(p50s: (number | null)[]): number | null {
  const known = p50s.filter((p50) => p50 !== null);
  if (known.length === 0) return null;
  const limit = TAKE_OFF * Math.min(...known);
  const last = p50s.findLastIndex((p50) => p50 !== null && p50 <= limit);
  return last === p50s.length - 1 ? null : last;
}

/** The stage whose mean grew most. */
export function grown(from: Latencies, to: Latencies): Stage | null {
  let most = 0;
  let grower: Stage | null = null;
  for (const stage of STAGES) {
    const [a, b] = [from.stages[stage].mean, to.stages[stage].mean];
    if (a !== null && b !== null && b - a > most) {
      most = b - a;
      grower = stage;
    }
  }
  return grower;
}
