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

/** Deliveries of what a step accepted that did not come. A run of an earlier version does not say whose it misses: then any step's. */
export function missed({ account }: Run, step: Step): number {
  return step.due === undefined ? account.deliveries.missing : Math.max(0, step.due - step.arrived);
}

/**
 * Messages/s that a step took and brought to its subscribers while it went. What was refused, got lost, or was left in a backlog for
 * later, does not count, however fast the rest was.
 */
export function carried(run: Run, step: Step): number {
  const due = step.due ?? step.arrived + missed(run, step);
  if (due === 0 || step.duration_s <= 0) return 0;
  const before = run.steps[run.steps.indexOf(step) - 1];
  // Where there was a wait in between, what was owed is not known any more: all that is owed at the end is this step's.
  const abuts = before !== undefined && step.start_s - before.start_s - before.duration_s < 0.001;
  const grew = Math.max(0, (step.backlog ?? 0) - (abuts ? (before.backlog ?? 0) : 0));
  const there = Math.max(0, Math.min(step.arrived, due - grew));
  return ((there / due) * step.accepted) / step.duration_s;
}

/** Whether a step brought all of its messages to their subscribers, but for what is just under way when it ends. */
export function whole(run: Run, step: Step): boolean {
  return step.accepted >= step.scheduled && missed(run, step) === 0 && !pointOf(step).owed;
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
