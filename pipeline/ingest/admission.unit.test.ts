import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from './admission.ts';
import { noCounts } from './counters.ts';

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
  const admission = new Admission({ away: undefined, depth }, limits, counters);
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
