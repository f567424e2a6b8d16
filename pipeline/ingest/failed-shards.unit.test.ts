import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Problem } from '../common/readiness.ts';
import { FailedShards } from './failed-shards.ts';

const DENIED: Problem = { problem: 'NOPERM', kind: 'misconfigured' };
const RECENT_MS = 5000;

/** Shards of a queue, and the parts of an episode that have not ended. */
function observed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const open = new Set<string>();
  const queue = { away: undefined as Problem | undefined, shardName: (shard: number) => `shard ${shard}` };
  const busy = new Set<number>();
  const shards = new FailedShards(queue, (shard) => busy.has(shard), {
    begin: (_problem, { part = '' } = {}) => open.add(part),
    end: (part = '') => open.delete(part),
  });
  const pass = (ms: number) => t.mock.timers.tick(ms);
  return { shards, queue, busy, open, pass };
}

// Regression: the episode went on until somebody sent to that shard, and other failures were said nowhere meanwhile.
test('a failed shard that nobody tries any more has no part in the episode', (t) => {
  const { shards, open, pass } = observed(t);
  shards.failed(1, DENIED);
  pass(RECENT_MS - 1);
  shards.failed(2, DENIED);
  assert.deepEqual([...open], ['1', '2']);
  pass(1);
  assert.deepEqual([...open], ['2']);
  shards.written(2);
  assert.deepEqual([...open], []);
});

test('one that is tried has, and each does while the queue is away', (t) => {
  const { shards, queue, busy, open, pass } = observed(t);
  busy.add(1);
  shards.failed(1, DENIED);
  pass(3 * RECENT_MS);
  assert.deepEqual([...open], ['1']);
  busy.clear();
  queue.away = { problem: 'ECONNREFUSED', kind: 'shared' };
  pass(3 * RECENT_MS);
  assert.deepEqual([...open], ['1']);
  queue.away = undefined;
  pass(RECENT_MS);
  assert.deepEqual([...open], []);
});
