import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Problem } from '../common/readiness.ts';
import { Admission, FailedShards } from './admission.ts';
import { noCounts } from './counters.ts';

const queue = {
  away: undefined,
  explain: ({ message }: Error) => ({ problem: message, kind: 'misconfigured' as const }),
  isDisconnection: ({ message }: Error) => message === 'gone',
};
const limits = { requests: 10, bytes: 1000, backlog: 100 };

// Regression: in an outage of 2 s 20 reads of the depth waited at once.
test('a read of the depth begins when the last one has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const reads: PromiseWithResolvers<number>[] = [];
  const depth = () => {
    const read = Promise.withResolvers<number>();
    reads.push(read);
    return read.promise;
  };
  const counters = noCounts();
  const admission = new Admission({ ...queue, depth }, limits, counters);
  admission.start();
  t.after(() => admission.stop());
  const turn = () => new Promise(setImmediate);
  t.mock.timers.tick(2000);
  await turn();
  assert.equal(reads.length, 1);
  reads[0]?.resolve(7);
  await turn();
  t.mock.timers.tick(100);
  await turn();
  assert.deepEqual([reads.length, counters.backlog], [2, 7]);
  reads[1]?.reject(new Error('Redis is away'));
  await turn();
  t.mock.timers.tick(100);
  assert.equal(reads.length, 3);
});

// Regression: the backlog of the last successful read counted for ever.
for (const reason of ['no right to GET', 'gone']) {
  test(`while the depth cannot be read (${reason}), one write learns it`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const counters = noCounts();
    const depth = () => Promise.reject(new Error(reason));
    const told: (string | undefined)[] = [];
    const admission = new Admission({ ...queue, depth }, limits, counters, undefined, (what) =>
      told.push(what),
    );
    admission.written(100);
    assert.match(admission.refusal(1)?.message ?? '', /a backlog of 100 messages/);
    admission.start();
    t.after(() => admission.stop());
    await new Promise(setImmediate);
    assert.equal(admission.refusal(1), undefined);
    counters.unanswered = 1;
    assert.match(admission.refusal(1)?.message ?? '', /a backlog of 101 messages/, 'others do not join it');
    counters.unanswered = 0;
    admission.written(100);
    assert.match(admission.refusal(1)?.message ?? '', /a backlog of 100 messages/, 'nor follow at once');
    admission.written(0);
    assert.equal(admission.refusal(1), undefined);
    const expected = reason === 'gone' ? [] : [`the backlog cannot be read: ${reason}`];
    assert.deepEqual(told, expected);
    assert.deepEqual(
      admission.problems().map(({ problem, kind }) => [problem, kind]),
      expected.map((problem) => [problem, 'shared']),
    );
  });
}

// Regression: when Redis went away, the log said that the backlog is read again.
test('the depth is read again when the queue answers, and not when it goes away', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let answer: () => Promise<number> = () => Promise.reject(new Error('no right to GET'));
  const told: (string | undefined)[] = [];
  const admission = new Admission(
    { ...queue, depth: () => answer() },
    limits,
    noCounts(),
    undefined,
    (what) => told.push(what),
  );
  const round = async () => {
    await new Promise(setImmediate);
    t.mock.timers.tick(100);
    await new Promise(setImmediate);
  };
  admission.start();
  t.after(() => admission.stop());
  await round();
  answer = () => Promise.reject(new Error('gone'));
  await round();
  assert.equal(told.length, 1);
  answer = async () => 7;
  await round();
  assert.deepEqual(told.slice(1), [undefined]);
});

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
