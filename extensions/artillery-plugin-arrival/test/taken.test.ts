import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../ledger.ts';
import { Taken } from '../taken.ts';
import { monotonic } from '../thread.ts';
import { Turns } from '../turns.ts';

const flow = { weight: 1, targets: 2, deliveries: 1, payloadBytes: 0 };
const flows = [
  { ...flow, name: 'one', target: 'user', messages: 1 },
  { ...flow, name: 'ten', target: 'room', messages: 10 },
];
const phases = ['1', '2'].map((name, i) => ({
  name,
  duration: 1,
  rate: 0,
  rampTo: 0,
  measured: true,
  vus: i + 1,
}));

test('requests are numbered as they are taken, with their messages, flows in turn unless one is named', () => {
  const taken = new Taken(phases, flows);
  taken.take(0, 0.1);
  taken.take(0, 0.2);
  taken.take(1, 1.3, 1);
  assert.deepEqual(
    [0, 1, 2].map((n) => [taken.slot(n).flow, taken.slot(n).firstSeq, taken.slot(n).ofFlow]),
    [
      [0, 0, 0],
      [1, 1, 0],
      [1, 11, 10],
    ],
  );
  assert.equal(taken.messages(3), 21);
  assert.deepEqual(
    [0, 1, 10, 11, 20].map((seq) => taken.requestOf(seq)),
    [0, 1, 1, 2, 2],
  );
  assert.deepEqual([taken.dueBefore(0.1), taken.dueBefore(1), taken.dueBefore(2)], [0, 2, 3]);
  assert.deepEqual(
    [taken.phaseRequests(0), taken.phaseRequests(1)],
    [
      [0, 2],
      [2, 3],
    ],
  );
});

test('a delivery may come before it is known that its request was taken', () => {
  const taken = new Taken(phases, flows);
  const ledger = new Ledger(taken, 0);
  const take = (n: number) => {
    taken.take(0, n, 0);
    ledger.grow();
    ledger.send(n, n * 1000);
    ledger.settle(n, 'accepted', n * 1000 + 100);
  };
  take(0);
  ledger.arrive(0, 1500, 1, undefined);
  assert.equal(ledger.account(false).arrived, 0);
  take(1);
  ledger.arrive(0, 900, 0, undefined);
  for (let n = 2; n < 100; n++) take(n);
  const account = ledger.account(true);
  assert.deepEqual([account.scheduled, account.arrived, account.lost, account.foreign], [100, 2, 98, 0]);
  assert.equal(ledger.measures.measured.arrival.max, 900, 'due when it was sent');
});

test('as many send at a time as the turn has, who waits longest first, and none once it is over', async () => {
  let idle = 0;
  const turns = new Turns(() => idle++);
  const granted: string[] = [];
  const ask = (who: string) => turns.next().then((phase) => granted.push(`${who} ${phase}`));
  const asked = ['a', 'b', 'c', 'd'].map(ask);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  await settled();
  assert.deepEqual(granted, [], 'no turn has begun');
  turns.begin({ phase: 3, vus: 2, until: monotonic() + 60e6 });
  await settled();
  assert.deepEqual(granted, ['a 3', 'b 3']);
  turns.done();
  await settled();
  assert.deepEqual(granted, ['a 3', 'b 3', 'c 3']);
  turns.begin({ phase: 3, vus: 0, until: 0 });
  turns.done();
  assert.equal(idle, 0);
  turns.done();
  assert.equal(idle, 1, 'told when the last is through');
  turns.begin({ phase: 4, vus: 2, until: monotonic() - 1 });
  await settled();
  assert.equal(granted.length, 3, 'a turn that has ended lets nobody in');
  turns.end();
  await Promise.all(asked);
  assert.equal(granted.at(-1), 'd undefined');
  assert.equal(await turns.next(), undefined);
});
