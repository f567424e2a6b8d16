import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STAGES } from '../contract/run.ts';
import { balance, curve, percentile, share, supports, titleOf } from '../page/facts.ts';
import { clock, duration, figure, instant, ms, percent } from '../page/format.ts';
import { golden } from './goldens.ts';

test('the page adds up the account itself', () => {
  const { account } = golden('passing');
  assert.deepEqual(balance(account), { sum: account.scheduled, difference: 0, holds: true });
  assert.deepEqual(balance(golden('unbalanced').account), { sum: 2_433, difference: -37, holds: false });
  const claimed = golden('unbalanced').account;
  claimed.balanced = true;
  assert.equal(balance(claimed).holds, false, 'the sum overrules the claim that it balances');
  const doubted = golden('passing').account;
  doubted.balanced = false;
  assert.equal(balance(doubted).holds, false, 'the sum does not overrule a denial');
});

test('the title of a chart is that of the facts, unbroken between number and unit', () => {
  const run = golden('passing');
  assert.equal(titleOf(run, 'p99').replaceAll('\u00a0', ' '), run.facts.titles.p99);
  assert.equal(titleOf(run, 'burst'), '');
});

test('a percentile needs 1 / (1 - p) samples', () => {
  assert.equal(supports(100, 99), true);
  assert.equal(supports(99, 99), false);
  assert.equal(supports(1000, 99.9), true);
  assert.equal(supports(999, 99.9), false);
  assert.equal(supports(0, 50), false);
  assert.equal(percentile({ count: 50, p95: 3, p99: 4 }, 'p99'), null);
  assert.equal(percentile({ count: 50, p95: 3, p99: 4 }, 'p95'), 3);
});

test('the curve ends at the last percentile that the samples support', () => {
  const points: [number, number][] = [
    [10, 1],
    [50, 2],
    [99, 3],
    [99.9, 4],
    [99.99, 5],
    [100, 6],
  ];
  const percentiles = (samples: number) =>
    curve({ ...golden('passing').latency.arrival, count: samples, curve: points }).map(([p]) => p);
  assert.deepEqual(percentiles(10_000), [50, 99, 99.9, 99.99]);
  assert.deepEqual(percentiles(9_999), [50, 99, 99.9]);
  assert.deepEqual(percentiles(2), [50]);
  assert.deepEqual(percentiles(0), []);
});

test('the shares of the stages add up to one', () => {
  const { latency } = golden('passing');
  const sum = STAGES.reduce((total, stage) => total + (share(latency, stage) ?? 0), 0);
  assert.ok(Math.abs(sum - 1) < 1e-3);
});

test('numbers have three significant digits and thousands separators', () => {
  const cases: [number | null, string][] = [
    [0, '0'],
    [0.0312, '0.031'],
    [0.9034, '0.903'],
    [9.999, '10.0'],
    [0.9996, '1.00'],
    [1.2, '1.20'],
    [12.345, '12.3'],
    [123.45, '123'],
    [71_900.4, '71,900'],
    [-0.52, '-0.520'],
    [null, '–'],
  ];
  for (const [value, text] of cases) assert.equal(ms(value), text);
  assert.equal(figure(1520), '1,520');
  assert.equal(figure(27.04), '27');
  assert.equal(percent(0.412), '41\u00a0%');
  assert.equal(percent(0.004), '0.4\u00a0%');
  assert.equal(percent(0.0003), '<\u00a00.1\u00a0%');
  assert.equal(percent(0.9985), '99.9\u00a0%');
  assert.equal(percent(1), '100\u00a0%');
});

test('times and durations have units and separators', () => {
  assert.equal(clock(7), '0:07');
  assert.equal(clock(3723), '1:02:03');
  assert.equal(duration(51.279), '51.3\u00a0s');
  assert.equal(duration(7384), '2\u00a0h 3\u00a0min 4\u00a0s');
  assert.equal(instant('2026-11-21T09:48:00.123Z'), '2026-11-21 09:48:00 UTC');
  assert.equal(instant('yesterday'), 'yesterday');
});
