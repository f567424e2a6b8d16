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
