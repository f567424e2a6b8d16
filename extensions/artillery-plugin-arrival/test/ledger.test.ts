import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../ledger.ts';
import { Pacer } from '../pacer.ts';
import { Targets } from '../targets.ts';

const EPOCH = 1_000_000;
const flow = {
  name: 'direct',
  weight: 1,
  target: 'user',
  targets: 2,
  messages: 1,
  deliveries: 2,
  payloadBytes: 0,
};
const phase = { name: 'all', duration: 1, rate: 10, rampTo: 10, measured: true };
const due = (n: number) => EPOCH + n * 100_000;

function ledger(): Ledger {
  return new Ledger(new Pacer([phase], [flow]), EPOCH);
}

test('each message ends once: all ends, and their sum', () => {
  const l = ledger();
  for (let n = 0; n < 9; n++) l.send(n, due(n) + 1000);
  const both = (seq: number) =>
    [0, 1].map((subscriber) => l.arrive(subscriber, due(seq) + 5000, seq, undefined));
  l.settle(0, 'accepted', due(0) + 2000); // arrives
  both(0);
  l.settle(1, 'rejected', due(1) + 2000);
  l.settle(2, 'failed', due(2) + 2000); // unknown
  l.settle(3, 'accepted', due(3) + 2000); // lost: one of two deliveries
  l.arrive(0, due(3) + 5000, 3, undefined);
  l.settle(4, 'accepted', due(4) + 2000);
  l.find(4, 'queued');
  l.settle(5, 'accepted', due(5) + 2000);
  l.find(5, 'dead_lettered');
  l.settle(6, 'failed', due(6) + 2000); // no answer, and it arrived all the same
  both(6);
  l.settle(7, 'accepted', due(7) + 2000); // lost
  l.settle(8, 'rejected', due(8) + 2000); // refused and delivered all the same
  both(8);
  const a = l.account(true);
  assert.deepEqual(
    [a.scheduled, a.dropped, a.rejected, a.unknown, a.arrived, a.dead_lettered, a.queued, a.lost, a.pending],
    [10, 1, 1, 1, 3, 1, 1, 2, 0],
  );
  assert.equal(a.balanced, true);
  assert.deepEqual(a.requests, { scheduled: 10, sent: 9, retried: 0 });
  assert.deepEqual(a.deliveries, { due: 14, arrived: 7, missing: 7 });
  assert.equal(l.account(false).pending, 4, 'of a run that is cut off: what has no end yet');
});

test('duplicates, strangers and what overtakes are counted', () => {
  const l = ledger();
  for (const n of [0, 1, 2, 3]) l.send(n, due(n));
  l.arrive(0, due(0) + 400, 0, undefined);
  l.arrive(0, due(0) + 500, 0, undefined);
  l.arrive(0, due(3), 3, undefined);
  l.arrive(0, due(3), 1, undefined); // of the same target as 3
  l.arrive(0, due(3), 2, undefined); // of another
  l.arrive(0, due(3), 10, undefined);
  l.foreign();
  const { duplicates, reordered, foreign } = l.account(true);
  assert.deepEqual({ duplicates, reordered, foreign }, { duplicates: 1, reordered: 1, foreign: 2 });
});

test('a message that arrives before its thread has said that it was sent is measured then', () => {
  const l = ledger();
  l.arrive(0, due(0) + 5000, 0, undefined);
  assert.deepEqual(l.measures.latencies, []);
  assert.equal(l.account(true).foreign, 1, 'until then it is a stranger');
  l.send(0, due(0) + 1000);
  assert.equal(l.account(true).foreign, 0);
  assert.equal(l.measures.measured.arrival.sum, 5000);
  assert.deepEqual(l.measures.latencies, [5000], 'and told to Artillery');
});

test('what is owed follows answers and deliveries in either order', () => {
  const l = ledger();
  l.send(0, due(0));
  l.arrive(0, due(0), 0, undefined);
  assert.equal(l.owed, 0);
  l.settle(0, 'accepted', due(0));
  assert.equal(l.owed, 1);
  l.arrive(1, due(0), 0, undefined);
  assert.equal(l.owed, 0);
});

test('each target has its deliveries, reorderings and losses, and none is left out', () => {
  const flows = [
    { ...flow, deliveries: 1, targets: 3 },
    { ...flow, name: 'batch', deliveries: 1, targets: 3, messages: 4 },
  ];
  const pacer = new Pacer([phase], flows);
  const l = new Ledger(pacer, EPOCH);
  for (let n = 0; n < pacer.requests; n++) {
    l.send(n, due(n));
    l.settle(n, 'accepted', due(n) + 100);
  }
  for (let seq = pacer.messages(pacer.requests) - 1; seq > 0; seq--) l.arrive(0, 5e6, seq, undefined);
  const lost = new Map<string, number>();
  const a = l.account(true, lost);
  const { total, rows, others } = l.targets.told(lost);
  assert.deepEqual([total, rows.length, others], [3, 3, null]);
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0);
  assert.equal(
    sum((row) => row.arrival?.count ?? 0),
    a.deliveries.arrived,
  );
  assert.deepEqual([sum((row) => row.reordered), sum((row) => row.lost)], [a.reordered, a.lost]);
  assert.equal(rows.find(({ name }) => name === 'user/0')?.lost, 1, 'number 0 is lost');
});

test('of many targets one in so many is followed, and the others are together', () => {
  const targets = new Targets([{ ...flow, targets: 2001 }]);
  for (let i = 0; i < 2001; i++) targets.of(`user/${i}`).arrival.add(1000 + i);
  const { total, rows, others } = targets.told(
    new Map([
      ['user/0', 2],
      ['user/1', 1],
    ]),
  );
  assert.equal(total, 2001);
  assert.deepEqual(
    rows.map(({ name, lost }) => [name, lost]).filter(([, lost]) => lost !== 0),
    [['user/0', 2]],
  );
  assert.equal(others?.targets, 2001 - rows.length);
  assert.equal(others?.lost, 1);
  assert.equal((others?.arrival?.count ?? 0) + rows.length, 2001);
});
