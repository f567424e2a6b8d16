import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Clock, estimate } from './clock.ts';

test('no sample proves nothing', () => {
  assert.deepEqual(estimate([]), { offset_us: 0, bound_us: Number.POSITIVE_INFINITY });
});

test('an offset inside the bound is zero', () => {
  assert.deepEqual(estimate([{ t0: 1000, server: 1040, t1: 1100 }]), { offset_us: 0, bound_us: 50.5 });
});

test('an offset on the edge of the bound is zero, one beyond it is not', () => {
  assert.equal(estimate([{ t0: 1000, server: 1100.5, t1: 1100 }]).offset_us, 0);
  assert.equal(estimate([{ t0: 1000, server: 1101, t1: 1100 }]).offset_us, 51);
});

test('a clock that is ahead, a clock that is behind', () => {
  assert.equal(estimate([{ t0: 1000, server: 501_050, t1: 1100 }]).offset_us, 500_000);
  assert.equal(estimate([{ t0: 501_000, server: 1050, t1: 501_100 }]).offset_us, -500_000);
});

test('the smallest round trip decides, not the last', () => {
  const samples = [
    { t0: 0, server: 5000, t1: 2000 },
    { t0: 3000, server: 8020, t1: 3040 },
    { t0: 4000, server: 9900, t1: 5000 },
  ];
  assert.deepEqual(estimate(samples), { offset_us: 5000, bound_us: 20.5 });
});

test('two samples just as short: the first stands', () => {
  const samples = [
    { t0: 0, server: 1000, t1: 10 },
    { t0: 20, server: 2020, t1: 30 },
  ];
  assert.equal(estimate(samples).offset_us, 995);
});

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
