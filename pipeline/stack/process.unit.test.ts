import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drained } from './process.ts';

const WITHIN_MS = 60_000;

// Regression: the first look that failed counted as an empty queue, and the relays were stopped.
test('looks that fail do not end the wait for an empty queue', async () => {
  const looks = [3, new Error('Redis is away'), new Error('Redis is away'), 2, 0, 1];
  const depth = async () => {
    const look = looks.shift();
    if (look instanceof Error) throw look;
    return look ?? 0;
  };
  await drained(depth, () => true, WITHIN_MS);
  assert.deepEqual(looks, [1]);
});

test('it ends when nobody empties the queue any more, and at its limit', async () => {
  let looks = 0;
  const depth = async () => ++looks;
  await drained(depth, () => looks < 3, WITHIN_MS);
  assert.equal(looks, 3);
  await drained(depth, () => true, 0);
  assert.equal(looks, 3);
});
