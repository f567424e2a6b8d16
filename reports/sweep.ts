/** A sweep of concurrency: its points. */
import type { Run, Step } from './contract/run.ts';

/** Messages/s that a step took and brought to its subscribers while it went; of an earlier version those that it took. */
export function carried({ carried_per_s, accepted_per_s }: Step): number {
  return carried_per_s ?? accepted_per_s ?? 0;
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
