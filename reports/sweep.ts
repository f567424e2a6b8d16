/** The points of a sweep of concurrency. */
import type { Run, Step } from './contract/run.ts';

/** The measured steps of the closed model by ascending concurrency; empty if there are fewer than two. */
export function sweepSteps(run: Run): (Step & { vus: number })[] {
  const steps = closedSteps(run);
  return new Set(steps.map((step) => step.vus)).size > 1 ? steps : [];
}

function closedSteps(run: Run): (Step & { vus: number })[] {
  return run.steps
    .filter((step): step is Step & { vus: number } => step.measured && step.vus !== null && step.vus > 0)
    .sort((a, b) => a.vus - b.vus);
}
