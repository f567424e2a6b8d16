import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Durations } from './durations.ts';

test('durations are counted in seconds; below zero counts as zero', async () => {
  const durations = new Durations('a_seconds', 'What it is.');
  for (const us of [-5, 100, 101]) durations.add(us);
  const { values } = await durations.get();
  const of = (name: string, le?: number) =>
    values.find(({ metricName, labels }) => metricName === `a_seconds_${name}` && labels.le === le)?.value;
  assert.equal(of('bucket', 0.0001), 2);
  assert.equal(of('bucket', 0.00025), 3);
  assert.equal(of('sum'), 0.000201);
});
