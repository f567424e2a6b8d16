import assert from 'node:assert/strict';
import { test } from 'node:test';
import { carried, heldBelow, sweepSteps } from '../sweep.ts';
import { golden } from './goldens.ts';

test('a sweep is of measured steps of several concurrencies, in their order', () => {
  const run = golden('closed');
  run.steps.reverse();
  assert.deepEqual(
    sweepSteps(run).map(({ vus }) => vus),
    [1, 4, 16, 32],
  );
  for (const step of run.steps) step.vus = 4;
  assert.deepEqual(sweepSteps(run), []);
  assert.deepEqual(sweepSteps(golden('passing')), []);
});

// A step of 30 VUs counted after those of 16 and 20 had failed, and a sweep of one step held nothing.
test('a rate is held where all steps below it were', () => {
  const run = golden('closed');
  const steps = sweepSteps(run);
  steps.forEach((step, i) => {
    Object.assign(step, { accepted: 1000 * (i + 1), scheduled: 1000 * (i + 1), due: 1000 * (i + 1) });
    Object.assign(step, { arrived: 1000 * (i + 1), backlog: 0, duration_s: 1 });
    step.latency.arrival.p99 = [10, 10, 300, 10][i] ?? null;
  });
  assert.deepEqual(heldBelow(run, 250), { rate: carried(run, steps[1] as (typeof steps)[0]), all: false });
  assert.equal(heldBelow(run, 250).rate, 2000);
  run.steps = steps.slice(0, 1);
  assert.deepEqual(heldBelow(run, 250), { rate: 1000, all: true });
  assert.deepEqual(heldBelow(run, 10), { rate: 0, all: false });
});
