import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from 'hdr-histogram-js';
import { briefOf, FORM, latencyOf } from '../latency.ts';

function seriesOf(values: readonly number[]) {
  const histogram = build(FORM);
  for (const value of values) histogram.recordValue(value);
  const sum = values.reduce((all, value) => all + value, 0);
  return { histogram, count: values.length, sum, min: Math.min(...values), max: Math.max(...values) };
}

/** Numbers that look drawn and are the same in each run. */
function drawn(count: number, up: number): number[] {
  let state = 1;
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor(up ** (state / 2_147_483_647));
  });
}

for (const [what, values] of Object.entries({
  'one sample': [1234],
  'two samples': [3, 3_600_000_000],
  'a hundred alike': Array<number>(100).fill(100_001),
  'one to a thousand': Array.from({ length: 1000 }, (_, i) => i + 1),
  'up to a second': drawn(12_345, 1e6),
  'up to an hour': drawn(777, 3.6e9),
})) {
  test(`percentiles in one pass are those of the library: ${what}`, () => {
    const series = seriesOf(values);
    const library = (p: number) => Math.min(series.histogram.getValueAtPercentile(p), series.max) / 1000;
    const latency = latencyOf(series);
    assert.deepEqual(
      [latency.p50, latency.p75, latency.p90, latency.p95, latency.p99, latency.p999],
      [50, 75, 90, 95, 99, 99.9].map(library),
    );
    assert.deepEqual(
      latency.curve.slice(0, -1),
      latency.curve.slice(0, -1).map(([p]) => [p, library(p)]),
    );
    const brief = briefOf(series);
    assert.deepEqual([brief?.p50, brief?.p95, brief?.p99], [50, 95, 99].map(library));
  });
}
