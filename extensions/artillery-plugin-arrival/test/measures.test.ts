import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Measures } from '../measures.ts';
import { Pacer } from '../pacer.ts';

const EPOCH = 1_000_000;
const flow = {
  name: 'direct',
  weight: 1,
  target: 'user',
  targets: 1,
  messages: 1,
  deliveries: 1,
  payloadBytes: 0,
};
const phases = [
  { name: 'warm-up', duration: 1, rate: 10, rampTo: 10, measured: false },
  { name: 'sustained', duration: 1, rate: 10, rampTo: 10, measured: true },
];
const pacer = new Pacer(phases, [flow]);
const due = (n: number) => EPOCH + n * 100_000;
const hopsOf = (n: number, queued = 900) => ({
  received: due(n) + 800,
  queued: due(n) + queued,
  claimed: due(n) + 3300,
  published: due(n) + 3400,
});

test('the stages of a delivery add up to its arrival latency', () => {
  const measures = new Measures(pacer, EPOCH);
  assert.equal(measures.delivery(pacer.slot(11), due(11) + 700, due(11) + 9000, hopsOf(11)), 9000);
  const { arrival, from_send, stages } = measures.measured;
  assert.deepEqual([arrival.sum, from_send.sum], [9000, 8300]);
  const sums = stages.map(({ sum }) => sum);
  assert.deepEqual(sums, [700, 100, 100, 2400, 100, 5600]);
  assert.deepEqual(measures.stageSums, sums, 'of this second too');
  assert.equal(measures.negative, 0);
});

test('a delivery with a stage below zero is counted, once', () => {
  const measures = new Measures(pacer, EPOCH);
  measures.delivery(pacer.slot(1), due(1), due(1) + 9000, hopsOf(1, 700));
  measures.delivery(pacer.slot(2), due(2) + 10, due(2), undefined);
  measures.delivery(pacer.slot(3), due(3), due(3) + 9000, undefined);
  assert.equal(measures.negative, 2);
});

test('a warm-up is measured for itself', () => {
  const measures = new Measures(pacer, EPOCH);
  measures.delivery(pacer.slot(1), due(1), due(1) + 9000, undefined);
  measures.request(pacer.slot(1), 500);
  assert.deepEqual(
    measures.phases.map(({ arrival, http }) => [arrival.count, http.count]),
    [
      [1, 1],
      [0, 0],
    ],
  );
  assert.deepEqual([measures.measured.arrival.count, measures.flows[0]?.count], [0, 0]);
});

test('a cut begins the next interval, and leaves the phases as they are', () => {
  const measures = new Measures(pacer, EPOCH);
  measures.delivery(pacer.slot(11), due(11), due(11) + 9000, hopsOf(11));
  assert.deepEqual([measures.latencies, measures.stamped], [[9000], 1]);
  measures.cut();
  assert.deepEqual([measures.latencies, measures.stamped, measures.interval.arrival.count], [[], 0, 0]);
  assert.ok(measures.stageSums.every((sum) => sum === 0));
  assert.equal(measures.measured.arrival.count, 1);
});
