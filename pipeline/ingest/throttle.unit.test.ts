import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noCounts } from './counters.ts';
import { Throttle } from './throttle.ts';

/** A throttle at 3 messages, over a queue of this depth. */
function at(depth: number) {
  const [counters, answered] = [{ ...noCounts(), backlog: depth }, [] as string[]];
  const throttle = new Throttle({ depth: () => new Promise(() => {}) }, 3, counters);
  return { counters, answered, throttle, pass: (name: string) => throttle.pass(() => answered.push(name)) };
}

test('a throttle passes answers at once below its depth', () => {
  const { answered, pass, counters } = at(2);
  pass('a');
  assert.deepEqual([answered, counters.throttled], [['a'], 0]);
});

test('a throttle holds answers in order until a write reports a shorter queue', (t) => {
  const { answered, pass, counters, throttle } = at(3);
  t.after(() => throttle.stop());
  pass('a');
  pass('b');
  throttle.release();
  assert.deepEqual([answered, counters.throttled], [[], 2]);
  counters.backlog = 2;
  throttle.release();
  assert.deepEqual(answered, ['a', 'b']);
});

test('a stop passes all held answers', () => {
  const { answered, pass, throttle } = at(3);
  pass('a');
  throttle.stop();
  assert.deepEqual(answered, ['a']);
});
