import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { grown, knee, pointOf, sweepSteps } from '../sweep.ts';
import { golden } from './goldens.ts';

interface Vector {
  name: string;
  points: [vus: number, p50: number | null, owed?: number][];
  knee: number | null;
}

const vectors: Vector[] = JSON.parse(readFileSync(new URL('../sweep.vectors.json', import.meta.url), 'utf8'));

for (const { name, points, knee: wanted } of vectors) {
  test(`knee: ${name}`, () => {
    const run = golden('closed');
    const step = run.steps.find(({ measured }) => measured);
    assert.ok(step);
    run.steps = points.map(([vus, p50, owed = 0]) => {
      const arrival = { ...step.latency.arrival, p50 };
      const latency = { ...step.latency, arrival };
      return { ...step, vus, scheduled: 1000, backlog: 1000 * owed, latency };
    });
    const steps = sweepSteps(run);
    const at = knee(steps.map((step) => pointOf(step)));
    assert.equal(at === null ? null : (steps[at]?.vus ?? 0), wanted);
  });
}

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

test('the stage that grew most between two steps', () => {
  const [, few, many] = sweepSteps(golden('closed'));
  assert.ok(few && many);
  assert.equal(grown(few.latency, many.latency), 'request');
  few.latency.stages.relay.mean = 1e6;
  assert.equal(grown(null, few.latency), 'relay', 'the longest of one step');
  assert.equal(grown(golden('without-stages').latency, golden('without-stages').latency), null);
});
