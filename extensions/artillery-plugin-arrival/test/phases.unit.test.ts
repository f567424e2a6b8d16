import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coursesOf } from '../phases.ts';
import type { Table } from '../table.ts';

/** When virtual users come, in ms from the begin of the run. */
function times(...phases: Table[]): number[] {
  let began = 0;
  return coursesOf(phases).flatMap(({ length, count, comes }) => {
    const all = Array.from({ length: count }, (_, k) => Math.round(began + comes(k)));
    began += length;
    return all;
  });
}

test('rates and durations may have fractions', () => {
  assert.deepEqual(times({ duration: 2, arrivalRate: 2.5 }), [0, 400, 800, 1200, 1600]);
  assert.deepEqual(times({ duration: 1.5, arrivalRate: 2 }), [0, 500, 1000]);
  assert.deepEqual(times({ duration: '1500ms', arrivalRate: '2' }), [0, 500, 1000], 'as variables give them');
  assert.deepEqual(times({ duration: 10, arrivalRate: 0.25 }), [0, 4000, 8000]);
  assert.deepEqual(times({ duration: 2, arrivalCount: 4 }), [0, 500, 1000, 1500]);
});

test('a fraction of a virtual user carries over to the next phase, and over a pause', () => {
  const half = { duration: 1, arrivalRate: 1.5 };
  assert.deepEqual(times(half, half), [0, 667, 1333]);
  assert.deepEqual(times(half, { pause: 1 }, half), [0, 667, 2333]);
});

// Regression: Artillery's own ramps round the rate of each second down, so that requests had no virtual user.
test('a ramp has as many virtual users as its integral, each when it is due', () => {
  assert.deepEqual(times({ duration: 2, arrivalRate: 0, rampTo: 4 }), [0, 1000, 1414, 1732]);
  assert.deepEqual(times({ duration: 2, arrivalRate: 4, rampTo: 0 }), [0, 268, 586, 1000]);
  assert.deepEqual(times({ duration: 2, arrivalRate: 1.5, rampTo: 1.5 }), [0, 667, 1333]);
  assert.equal(times({ duration: 20, arrivalRate: 10, rampTo: 50 }).length, 600);
});
