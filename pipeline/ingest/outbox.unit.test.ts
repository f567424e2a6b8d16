import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Message } from '../queue/queue.ts';
import { noCounts } from './counters.ts';
import { Outbox } from './outbox.ts';

/** An outbox over a queue that takes every write at once; `writes` holds the number of messages of each. */
function outbox(lingerMs: number) {
  const [writes, settled] = [[] as number[], [] as string[]];
  const append = async (messages: readonly Message[]) => writes.push(messages.length);
  const events = {
    written: () => {},
    failed: assert.fail,
    settled: (ticket: string) => void settled.push(ticket),
  };
  const box = new Outbox<string>({ append, shardFor: () => 0 }, noCounts(), lingerMs, events);
  const add = (ticket: string) => box.add(ticket, [{ body: '{}', target: 'a', stamps: '', trace: '' }]);
  return { writes, settled, add };
}

test('a lingering outbox writes what came since the first message, and then waits anew', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { writes, settled, add } = outbox(5);
  add('a');
  t.mock.timers.tick(4);
  add('b');
  await turn();
  assert.deepEqual(writes, []);
  t.mock.timers.tick(1);
  await turn();
  assert.deepEqual([writes, settled], [[2], ['a', 'b']]);
  add('c');
  t.mock.timers.tick(5);
  await turn();
  assert.deepEqual(
    [writes, settled],
    [
      [2, 1],
      ['a', 'b', 'c'],
    ],
  );
});

test('an outbox that does not linger writes a single message in the same turn', async () => {
  const { writes, add } = outbox(0);
  add('a');
  await turn();
  assert.deepEqual(writes, [1]);
});

// Regression: Redis refused one client's body, and what others had sent at the same time was refused with it.
test("a large message is written alone and in its order, and its refusal is nobody else's", async () => {
  const [writes, settled] = [[] as string[][], [] as [ticket: string, failed: boolean][]];
  const append = async (messages: readonly Message[]) => {
    writes.push(messages.map(({ target }) => target));
    if (messages.some(({ body }) => body.length > 1_048_576)) throw new Error('the value is too large');
    return 0;
  };
  const box = new Outbox<string>({ append, shardFor: () => 0 }, noCounts(), 0, {
    written: () => {},
    failed: assert.fail,
    settled: (ticket, _, failure) => void settled.push([ticket, failure !== undefined]),
  });
  for (const target of ['a', 'b', 'LARGE', 'c', 'd']) {
    const body = target === 'LARGE' ? 'x'.repeat(1_048_577) : '{}';
    box.add(target, [{ body, target, stamps: '', trace: '' }]);
  }
  while (settled.length < 5) await turn();
  assert.deepEqual(writes, [['a', 'b'], ['LARGE'], ['c', 'd']]);
  assert.deepEqual(
    settled.filter(([, failed]) => failed),
    [['LARGE', true]],
  );
});

// Regression: one of three nodes of a Redis Cluster was away, and half of the requests for the others got 503.
test("a shard that fails or hangs is nobody else's: each request is settled with the shards of its own messages", async () => {
  const writes = new Map<number, PromiseWithResolvers<number>>();
  const settled: [ticket: string, shard: number | undefined][] = [];
  const shardFor = (target: string) => Number(target);
  const append = (messages: readonly Message[]) => {
    const write = Promise.withResolvers<number>();
    writes.set(shardFor(messages[0]?.target ?? ''), write);
    return write.promise;
  };
  const count = noCounts();
  const box = new Outbox<string>({ append, shardFor }, count, 0, {
    written: () => {},
    failed: () => {},
    settled: (ticket, _messages, failure) => void settled.push([ticket, failure?.shard]),
  });
  const to = (...shards: number[]) =>
    shards.map((shard) => ({ body: '{}', target: String(shard), stamps: '', trace: '' }));
  box.add('hangs', to(0));
  box.add('is taken', to(1));
  box.add('fails', to(2));
  box.add('fails in part', to(1, 2));
  await turn();
  await turn();
  writes.get(1)?.resolve(1);
  await turn();
  assert.deepEqual(settled, [['is taken', undefined]]);
  writes.get(2)?.reject(new Error('no connection'));
  await turn();
  assert.deepEqual(settled.slice(1), [
    ['fails', 2],
    ['fails in part', 2],
  ]);
  assert.deepEqual(
    [0, 1, 2].map((shard) => box.isBusy(shard)),
    [true, false, false],
  );
  assert.equal(count.unanswered, 1, 'what hangs');
});
