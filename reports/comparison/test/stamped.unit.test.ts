import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf } from '../differences.ts';
import { type Measure, measureOf } from '../measures.ts';
import { simulated } from './simulated.ts';

/** Twice the same load; in some seconds a tenth of the messages has stamps, and waits ten times as long. */
function recording(seed: number, queue: number, counted: boolean) {
  const one = simulated({ seed });
  one.run.timeline.forEach((row, t) => {
    const few = (t * 7919) % 13 < 6;
    const wait = queue * (row.arrival?.mean ?? 1) * (few ? 10 : 1);
    row.stages = { schedule: 0, request: 0, ingest: 0, queue: wait, relay: 0, delivery: 0 };
    if (counted) row.stamped = Math.round((row.arrival?.count ?? 0) * (few ? 0.1 : 1));
  });
  one.run.latency.stages.queue = { ...one.run.latency.arrival, mean: queue };
  return one;
}

// Regression: seconds in which few messages have stamps counted as much as the others.
test('a stage of a block is the mean of the deliveries with stamps', () => {
  const width = (counted: boolean) => {
    const [a, b] = [recording(1, 1, counted), recording(2, 1.5, counted)];
    const found = differenceOf([a], [b], measureOf('queue.mean') as Measure);
    assert.ok(found?.interval, found?.why ?? 'no difference');
    return found.interval.high - found.interval.low;
  };
  assert.notEqual(width(true), width(false));
});
