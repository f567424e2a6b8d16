import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { latencyOf } from '../../reports/contract/run.ts';
import { assertAllArrived, assertPass, node, Pipeline, place, readRun } from './harness.ts';

describe('with its own pipeline', { concurrency: true }, () => {
  test('queue.js measures a list', async (t) => {
    const pipeline = await Pipeline.start({ QUEUE: 'list' });
    t.after(() => pipeline.stop());
    const { run, exitCode } = await pipeline.run('queue.js', { RATE: 100, DURATION: 0.5 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(run.account.scheduled, 50);
  });

  test("with TLS, k6's own modules trust the pipeline too", async (t) => {
    const { runDir, env } = await place(t);
    const settings = ['-e', `RUN_DIR=${runDir}`, '-e', 'RATE=20', '-e', 'DURATION=0.5'];
    const { all } = await node(['scenarios/run/run.ts', 'scenarios/broker.js', ...settings], {
      ...env,
      TLS: 'true',
    });
    const run = await readRun(runDir, all);
    assertAllArrived(run);
  });

  for (const QUEUE of ['stream', 'list']) {
    test(`ingest.js runs without a relay and empties the ${QUEUE} itself`, async (t) => {
      const pipeline = await Pipeline.start({ RELAY_WORKERS: '0', QUEUE });
      t.after(() => pipeline.stop());
      const { run, exitCode, text } = await pipeline.run('ingest.js', { RATE: 100, DURATION: 1 });
      assertPass(run, exitCode);
      assertAllArrived(run);
      const counts = run.stages.map(({ name }) => [name, latencyOf(run.latency, name).count]);
      const stages = ['schedule', 'request', 'ingest', 'queue'];
      assert.deepEqual(
        counts,
        stages.map((name) => [name, 100]),
        text,
      );
      // Read messages are deleted: the next run finds none, and the ingest has no backlog.
      const redis = new Redis(pipeline.stack.file.redis.url, { disableClientInfo: true });
      t.after(() => redis.disconnect());
      assert.equal(await redis.xlen('arrival:messages'), 0);
      assert.deepEqual(await redis.lrange('arrival:list', 0, 0), []);
    });
  }
});
