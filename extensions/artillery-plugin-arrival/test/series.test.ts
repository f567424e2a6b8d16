import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { briefOf, latencyOf } from '../../../reports/latency.ts';
import { Series } from '../series.ts';

test('count, sum, minimum and maximum are exact, percentiles are to three digits', () => {
  const series = new Series();
  for (let us = 1; us <= 10_000; us++) series.add(us);
  series.add(-7);
  const { count, min, mean, p50, p99, max, curve, histogram } = latencyOf(series);
  assert.deepEqual([count, min, max], [10_001, -0.007, 10]);
  assert.equal(mean, (50_005_000 - 7) / 10_001 / 1000);
  assert.ok(Math.abs((p50 as number) - 5) < 0.01 && Math.abs((p99 as number) - 9.9) < 0.02);
  assert.deepEqual(curve.at(-1), [100, 10]);
  assert.ok(
    curve.every(
      ([q, ms], i) => i === 0 || (q > (curve[i - 1]?.[0] as number) && ms >= (curve[i - 1]?.[1] as number)),
    ),
  );
  assert.equal(decodeFromCompressedBase64(histogram as string).totalCount, 10_001);
});

test('bins are ten a decade, from the first that holds one', () => {
  const series = new Series();
  for (const us of [1000, 1000, 1258, 1260, 100_000]) series.add(us);
  const [first, ...counts] = series.bins() as number[];
  assert.equal(first, 30);
  assert.deepEqual([counts[0], counts[1], counts.at(-1), counts.length], [3, 1, 1, 21]);
});

test('nothing is null, before the first sample and after a reset', () => {
  const series = new Series();
  assert.equal(briefOf(series), null);
  series.add(5);
  series.reset();
  assert.equal(briefOf(series), null);
  assert.equal(series.bins(), null);
  const { count, curve, ...rest } = latencyOf(series);
  assert.deepEqual([count, curve, new Set(Object.values(rest))], [0, [], new Set([null])]);
});
