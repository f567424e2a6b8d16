/** A sweep of concurrency: its points, and where it turns. */
import { type Latencies, type Run, STAGES, type Stage, type Step } from './run.ts';

/**
 * How many times the lowest p50 a step's p50 must exceed to have taken off.
 * internal/report/knee.go has the same rule; both are tested against sweep.vectors.json.
 */
export const TAKE_OFF = 5;

/** The share of a step's messages that, owed at its end, says that a backlog grew: so much is not just under way. */
const OWED_MUCH = 0.1;

export interface Point {
  /** Of arrival, ms; null: nothing arrived. */
  p50: number | null;
  /** A backlog grew. */
  owed: boolean;
}

/** @param p50 where it is not the step's own, but that of repeats */
export function pointOf(step: Step, p50 = step.latency.arrival.p50): Point {
  return { p50, owed: (step.backlog ?? 0) > OWED_MUCH * step.scheduled };
}

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
 * @param points by ascending concurrency
 * @returns its index, -1 if a backlog grew at each point: it is below the first; null if the last point has not taken off
 */
export function knee(points: readonly Point[]): number | null {
  const p50s = points.map(({ p50 }) => p50);
  const known = p50s.filter((p50) => p50 !== null);
  if (known.length === 0) return null;
  if (points.every(({ owed }) => owed)) return -1;
  const limit = TAKE_OFF * Math.min(...known);
  const last = p50s.findLastIndex((p50) => p50 !== null && p50 <= limit);
  return last === p50s.length - 1 ? null : last;
}

/** The stage whose mean grew most; from null, the one that is longest. */
export function grown(from: Latencies | null, to: Latencies): Stage | null {
  let most = 0;
  let grower: Stage | null = null;
  for (const stage of STAGES) {
    const [a, b] = [from === null ? 0 : from.stages[stage].mean, to.stages[stage].mean];
    if (a !== null && b !== null && b - a > most) {
      most = b - a;
      grower = stage;
    }
  }
  return grower;
}
