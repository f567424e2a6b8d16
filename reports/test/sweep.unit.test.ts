import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sweepSteps } from '../sweep.ts';
import { golden } from './goldens.ts';

test('a sweep has the measured steps in order of concurrency, if there are several', () => {
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
