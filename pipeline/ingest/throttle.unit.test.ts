import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noCounts } from './counters.ts';
import { Throttle } from './throttle.ts';

/** A throttle at 3 messages, over a queue of a depth that the test sets. */
function at(depth: number) {
  const [counters, answered] = [{ ...noCounts(), backlog: depth }, [] as string[]];
  const throttle = new Throttle({ depth: () => new Promise(() => {}) }, 3, counters);
  return { counters, answered, throttle, pass: (name: string) => throttle.pass(() => answered.push(name)) };
}

test('below its depth each answer is given at once', () => {
  const { answered, pass, counters } = at(2);
  pass('a');
  assert.deepEqual([answered, counters.throttled], [['a'], 0]);
});

test('answers are held in their order until a write reports a shorter queue', (t) => {
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

test('an ingest that stops gives all answers', () => {
  const { answered, pass, throttle } = at(3);
  pass('a');
  throttle.stop();
  assert.deepEqual(answered, ['a']);
});
