import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { Durations } from './metrics.ts';

/** A metric's text in a scrape. */
const text = (metric: Durations['metric']) => {
  const registry = new Registry();
  registry.registerMetric(metric);
  return registry.metrics();
};

test('Durations writes the same text as a Histogram of prom-client', async () => {
  const durations = new Durations('a_seconds', 'What it is.');
  const { values } = await durations.get();
  const buckets = values.flatMap(({ labels: { le } }) => (typeof le === 'number' ? [le] : []));
  const expected = new Histogram({ name: 'a_seconds', help: 'What it is.', buckets, registers: [] });
  assert.equal(await text(durations.metric), await text(expected));

  // Each bound and its neighbours, zero, and values above all bounds.
  for (const bound of buckets) {
    for (const us of [-1, 0, 1].map((beside) => Math.round(bound * 1e6) + beside)) {
      durations.add(us);
      expected.observe(us / 1e6);
    }
  }
  for (const us of [0, 1e6, 1e9]) {
    durations.add(us, 1000);
    for (let i = 0; i < 1000; i++) expected.observe(us / 1e6);
  }
  const [ours, theirs] = [await text(durations.metric), await text(expected)];
  const sum = (of: string) => Number(/^a_seconds_sum (\S+)$/m.exec(of)?.[1]);
  assert.ok(Math.abs(sum(ours) - sum(theirs)) < 1e-3, 'the sums are added in another order');
  assert.equal(ours.replace(/^a_seconds_sum .*/m, ''), theirs.replace(/^a_seconds_sum .*/m, ''));
});

test('a negative duration counts as zero, so the sum never falls', async () => {
  const durations = new Durations('a_seconds', 'What it is.');
  durations.add(-5);
  const scraped = await text(durations.metric);
  assert.match(scraped, /^a_seconds_bucket{le="0.0001"} 1$/m);
  assert.match(scraped, /^a_seconds_sum 0$/m);
});
