/** A sweep of concurrency: its points. */
import type { Run, Step } from './contract/run.ts';

/** The share of a step's messages that, owed at its end, says that a backlog grew, as internal/report/knee.go has it. */
const OWED_MUCH = 0.1;

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
  return (
    step.accepted >= step.scheduled &&
    missed(run, step) === 0 &&
    (step.backlog ?? 0) <= OWED_MUCH * step.scheduled
  );
}

/**
 * The highest rate of a step that kept arrival p99 below a limit (ms), as every step of fewer VUs did, messages/s, and whether all steps
 * did; 0: none.
 */
export function heldBelow(run: Run, limit: number): { rate: number; all: boolean } {
  const steps = closedSteps(run);
  const broken = steps.findIndex((step) => {
    const { p99 } = step.latency.arrival;
    return p99 === null || p99 >= limit || !whole(run, step);
  });
  const held = broken === -1 ? steps : steps.slice(0, broken);
  return { rate: Math.max(0, ...held.map((step) => carried(run, step))), all: held.length === steps.length };
}

/** The measured steps of the closed model by ascending concurrency; empty where there are fewer than two of them. */
export function sweepSteps(run: Run): (Step & { vus: number })[] {
  const steps = closedSteps(run);
  return new Set(steps.map((step) => step.vus)).size > 1 ? steps : [];
}

function closedSteps(run: Run): (Step & { vus: number })[] {
  return run.steps
    .filter((step): step is Step & { vus: number } => step.measured && step.vus !== null && step.vus > 0)
    .sort((a, b) => a.vus - b.vus);
}
