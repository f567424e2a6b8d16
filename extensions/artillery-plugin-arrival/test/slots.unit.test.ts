import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from '../slots.ts';
import type { Slot } from '../thread.ts';

const slot = (n: number): Slot => ({ n, due_us: n * 1000, flow: 'direct', path: '/messages', body: '{}' });
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => slot(from + i));

test('open model: slots are fetched ahead, and again when half are used', async () => {
  const sent: object[] = [];
  const slots = new Slots(false, 300, (line) => sent.push(line));
  const first = [slots.next(), slots.next()];
  assert.deepEqual(sent, [{ next: 500 }], 'one request for both');
  slots.add(range(0, 500));
  assert.deepEqual(
    (await Promise.all(first)).map((one) => one?.n),
    [0, 1],
  );
  for (let n = 2; n < 250; n++) assert.equal((await slots.next())?.n, n);
  assert.deepEqual(sent, [{ next: 500 }, { next: 500 }]);
  slots.add(range(500, 503));
  for (let n = 250; n < 503; n++) assert.equal((await slots.next())?.n, n);
  const beyond = slots.next();
  assert.equal(slots.over, false);
  slots.add([]);
  assert.equal(await beyond, undefined);
  assert.equal(slots.over, true);
  assert.equal(await slots.next(), undefined);
});

test('open model: fewer slots are fetched at a time when requests are large', () => {
  const sent: object[] = [];
  void new Slots(false, 1 << 20, (line) => sent.push(line)).next();
  void new Slots(false, 1e9, (line) => sent.push(line)).next();
  assert.deepEqual(sent, [{ next: 7 }, { next: 1 }]);
});

test('closed model: each call requests a turn of its flow; answers come in order', async () => {
  const sent: object[] = [];
  const slots = new Slots(true, 300, (line) => sent.push(line));
  const asked = [slots.next('view'), slots.next(), slots.next('view')];
  assert.deepEqual(sent, [
    { next: 1, flow: 'view' },
    { next: 1, flow: undefined },
    { next: 1, flow: 'view' },
  ]);
  slots.add([slot(0)]);
  slots.add([slot(1)]);
  slots.add([]);
  assert.deepEqual(
    (await Promise.all(asked)).map((one) => one?.n),
    [0, 1, undefined],
  );
  assert.equal(await slots.next('view'), undefined);
  assert.equal(sent.length, 3, 'no request after the end');
});
