import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../ledger.ts';
import { Pacer } from '../pacer.ts';
import { secondOf } from '../second.ts';

const flow = {
  name: 'batch',
  weight: 1,
  target: 'user',
  targets: 1,
  messages: 2,
  deliveries: 1,
  payloadBytes: 0,
};
const phases = [
  { name: 'warm-up', duration: 1, rate: 5, rampTo: 5, measured: false },
  { name: 'sustained', duration: 1, rate: 10, rampTo: 10, measured: true },
];

test('a second has what was due, sent, answered and delivered in it, and what is still owed', () => {
  const pacer = new Pacer(phases, [flow]);
  const ledger = new Ledger(pacer, 0);
  const at = 1_000_000;
  for (const n of [5, 6, 7, 8]) ledger.send(n, at);
  ledger.settle(5, 'accepted', at + 1000);
  ledger.settle(6, 'rejected', at + 1000);
  ledger.settle(7, 'failed', at + 1000);
  const hops = { received: at + 100, queued: at + 200, claimed: at + 400, published: at + 800 };
  ledger.arrive(0, at + 2000, 10, hops);
  const second = secondOf(1, 2, pacer, ledger);
  const { phase, requests, scheduled, sent, accepted, rejected, failed, arrived, backlog, http } = second;
  assert.deepEqual([phase, requests, scheduled], ['sustained', 10, 20]);
  assert.deepEqual([sent, accepted, rejected, failed], [8, 2, 2, 2]);
  assert.deepEqual([arrived, backlog, second.arrival?.count, http?.count], [1, 1, 1, 2]);
  assert.deepEqual(second.stages, {
    schedule: 0,
    request: 0.1,
    ingest: 0.1,
    queue: 0.2,
    relay: 0.4,
    delivery: 1.2,
  });
  ledger.cut();
  const next = secondOf(2, 2.5, pacer, ledger);
  assert.deepEqual([next.phase, next.requests, next.sent, next.arrived, next.backlog], [null, 0, 0, 0, 1]);
  assert.deepEqual([next.arrival, next.stages, next.arrival_bins], [null, null, null]);
});
