import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Clock, estimate, type Sample } from './clock.ts';

test('no sample proves nothing', () => {
  assert.deepEqual(estimate([]), { offset_us: 0, bound_us: Number.POSITIVE_INFINITY });
});

const vectors: { name: string; samples: Sample[]; offset_us: number; bound_us: number }[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'clock.vectors.json'), 'utf8'),
);
for (const { name, samples, offset_us, bound_us } of vectors) {
  test(name, () => assert.deepEqual(estimate(samples), { offset_us, bound_us }));
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
