import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Clock, type Estimate, estimate, type Sample } from './clock.ts';

test('no sample proves nothing', () => {
  const { offset_us, bound_us } = estimate([], 0);
  assert.deepEqual([offset_us, bound_us], [0, Number.POSITIVE_INFINITY]);
});

interface Vector extends Estimate {
  name: string;
  samples: Sample[];
}

const vectors: Vector[] = JSON.parse(readFileSync(join(import.meta.dirname, 'clock.vectors.json'), 'utf8'));
for (const { name, samples, at, ...expected } of vectors) {
  test(name, () => {
    const got = estimate(samples, at);
    assert.equal(got.kept, expected.kept);
    for (const figure of ['offset_us', 'bound_us', 'drift_ppm'] as const) {
      assert.ok(
        Math.abs(got[figure] - expected[figure]) < 1e-3,
        `${figure}: ${got[figure]}, not ${expected[figure]}`,
      );
    }
  });
}

test('a clock follows its reference, in whole microseconds', async () => {
  const ahead = 3_600_000_000;
  const clock = new Clock(async () => Date.now() * 1000 + ahead);
  await clock.probe();
  assert.ok(Number.isInteger(clock.now()));
  assert.ok(Math.abs(clock.now() - ahead - Date.now() * 1000) < 20_000);
});

test('a clock on the host of its reference keeps its own time', async () => {
  const clock = new Clock(async () => clock.now());
  await clock.probe();
  assert.equal(clock.estimate.offset_us, 0);
  assert.ok(clock.estimate.bound_us < 10_000);
});

test('a clock whose reference is away keeps what it knew', async () => {
  let away = false;
  const clock = new Clock(async () => {
    if (away) throw new Error('away');
    return Date.now() * 1000 + 1e9;
  });
  await clock.probe();
  away = true;
  await assert.rejects(clock.probe(), /away/);
  assert.ok(clock.now() > Date.now() * 1000 + 0.9e9);
});
