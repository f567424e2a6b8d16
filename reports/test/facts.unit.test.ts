import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration, figure, instant, ms } from '../format.ts';
import { curve, gapSpans, percentile, supports } from '../page/facts.ts';
import { golden } from './goldens.ts';

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

test('a gap without end lasts as long as the run', () => {
  const run = golden('gap');
  assert.deepEqual(gapSpans(run), [{ start: 3.24, end: 4.61 }]);
  run.health.gaps.push({ subscriber: 0, from_s: 5, to_s: null, reason: 'EOF' });
  assert.equal(gapSpans(run)[1]?.end, Number.POSITIVE_INFINITY);
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
    [-0.52, '−0.520'],
    [null, '–'],
  ];
  for (const [value, text] of cases) assert.equal(ms(value), text);
  assert.equal(figure(1520), '1,520');
  assert.equal(figure(27.04), '27');
});

test('times and durations have units and separators', () => {
  assert.equal(duration(7384), '2\u00a0h 3\u00a0min 4\u00a0s');
  assert.equal(instant('2026-11-21T09:48:00.123Z'), '2026-11-21 09:48:00 UTC');
  assert.equal(instant('yesterday'), 'yesterday');
});
