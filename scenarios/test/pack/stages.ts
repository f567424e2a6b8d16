import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { latencyOf } from '../../../reports/contract/run.ts';
import { assertAllArrived, assertPass, brokenOf, k6, type Pipeline } from '../harness.ts';

/** Scripts that load part of the pipeline. */
export function stages(pipeline: Pipeline): void {
  test('ingest: refuses a pipeline whose relays would take the messages', async () => {
    const { env } = pipeline;
    const { all, exitCode } = await k6(['run', '-q', '--log-format', 'raw', 'scenarios/ingest.js'], env);
    assert.match(
      String(all),
      /the pipeline has 1 relays, which would take the messages: start it with RELAY_WORKERS=0/,
    );
    assert.notEqual(exitCode, 0);
  });

  test('broker: measures the broker alone', async () => {
    const { run, exitCode } = await pipeline.run('broker.js', { RATE: 100, DURATION: 1 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(latencyOf(run.latency, 'queue').max, 0);
    assert.ok((latencyOf(run.latency, 'delivery').mean ?? 0) > 0);
  });

  test('connections: holds CONNECTIONS on two brokers, reports their cost and the canary', async () => {
    const settings = { CONNECTIONS: 60, CONNECT_RATE: 100, EVERY: 0.5, DURATION: 4, CANARY_P99: 60_000 };
    const { run, exitCode } = await pipeline.run('connections.js', settings);
    assertPass(run, exitCode);
    assertAllArrived(run);
    const figure = (name: string) => run.figures?.find((f) => f.name === name)?.value;
    assert.deepEqual(
      ['held', 'refused', 'lost'].map((what) => figure(`connections ${what}`)),
      [60, 0, 0],
    );
    for (const process of ['k6', 'mosquitto', 'mosquitto-2'])
      assert.ok(figure(`CPU of ${process} for each`) !== undefined, process);
    assert.equal(run.steps.length, 2);
    assert.ok(run.verdict.rules?.some(({ name, ok }) => name === 'connections_canary_p99_ms' && ok));
    assert.ok((run.canary?.sent ?? 0) >= 2);
  });

  test('connections: a missing canary fails the run, however fast the others were', async (t) => {
    const { env } = await pipeline.gateway(t, (_, n) => (n === 0 ? 'pass' : 'swallow'));
    const settings = { CONNECTIONS: 10, CONNECT_RATE: 100, EVERY: 0.5, DURATION: 1.6, CANARY_P99: 60_000 };
    const { run } = await pipeline.run('connections.js', settings, env);
    assert.deepEqual([run.canary?.sent, run.canary?.arrived], [2, 1]);
    assert.deepEqual(brokenOf(run), ['connections_canary_missing']);
  });
}

/** Need a pipeline without other load: Redis counts all runs, and throughput takes all cores. */
export function stagesAlone(pipeline: Pipeline): void {
  test('queue: measures Redis, relay and broker without the ingest', async (t) => {
    const redis = new Redis(pipeline.stack.file.redis.url, { disableClientInfo: true });
    t.after(() => redis.disconnect());
    const counted = async () =>
      Number((await redis.info('commandstats')).match(/^cmdstat_incrby:calls=(\d+)/m)?.[1] ?? 0);
    const before = await counted();
    const { run, exitCode } = await pipeline.run('queue.js', { RATE: 100, DURATION: 1 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(latencyOf(run.latency, 'ingest').max, 0);
    assert.ok((latencyOf(run.latency, 'queue').mean ?? 0) > 0);
    assert.ok((await counted()) - before >= 100, 'the script counts what it writes, as the ingest does');
  });

  test('throughput: adds a client in each step and reports the rate of each', async () => {
    const { run, exitCode, text } = await pipeline.run('throughput.js', { CLIENTS: 3, STEP: 1 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.deepEqual(
      run.figures?.map(({ name }) => name),
      ['all clients together, at most', 'with', '1 clients, each', '2 clients, each', '3 clients, each'],
    );
    // What was on its way at the end of a step, beyond what was at its begin, was not carried in it.
    const grew = run.steps.map(({ backlog }, i) =>
      Math.max(0, (backlog ?? 0) - (run.steps[i - 1]?.backlog ?? 0)),
    );
    const rates = run.steps.map(({ requests, duration_s }, i) => (requests - (grew[i] ?? 0)) / duration_s);
    assert.deepEqual(
      run.figures?.slice(2).map(({ value }) => value),
      run.steps.map(({ vus }, i) => (rates[i] ?? Number.NaN) / (vus ?? Number.NaN)),
      text,
    );
    assert.deepEqual(
      [run.figures?.[0]?.value, rates[Number(run.figures?.[1]?.value) - 1]],
      [Math.max(...rates), Math.max(...rates)],
    );
  });
}
