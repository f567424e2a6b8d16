import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { grown, knee, sweepSteps } from '../sweep.ts';
import { golden } from './goldens.ts';

interface Vector {
  name: string;
  points: [vus: number, p50: number | null][];
  knee: number | null;
}

const vectors: Vector[] = JSON.parse(readFileSync(new URL('../sweep.vectors.json', import.meta.url), 'utf8'));

for (const { name, points, knee: wanted } of vectors) {
  test(`knee: ${name}`, () => {
    const run = golden('closed');
    const step = run.steps.find(({ measured }) => measured);
    assert.ok(step);
    run.steps = points.map(([vus, p50]) => {
      const arrival = { ...step.latency.arrival, p50 };
      return { ...step, vus, latency: { ...step.latency, arrival } };
    });
    const steps = sweepSteps(run);
    const at = knee(steps.map(({ latency }) => latency.arrival.p50));
    assert.equal(at === null ? null : steps[at]?.vus, wanted);
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
  assert.equal(grown(golden('without-stages').latency, golden('without-stages').latency), null);
});
