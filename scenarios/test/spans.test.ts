import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../pipeline/stack/ports.ts';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { latencyOf } from '../../reports/contract/run.ts';
import { assertAllArrived, assertPass, node, place, readRun } from './harness.ts';

/**
 * The limit, ms, of the difference between the medians. A busy machine may take the core between a stamp and its span, which
 * means show (0.42 ms at load 14) and medians do not.
 */
const APART_MS = 0.25;
const PROFILE = { phases: [{ duration: 4, arrivalRate: 100 }], flows: [{ name: 'direct', targets: 10 }] };

/** A run of our pipeline in which each message is sampled. It passes, and every message arrives. */
async function measure(t: TestContext, SPANS: string, more: NodeJS.ProcessEnv = {}) {
  const [{ runDir, env }, dir] = [await place(t), await temporaryDirectory()];
  t.after(() => remove(dir));
  const profile = join(dir, 'profile.json');
  await writeFile(profile, JSON.stringify(PROFILE));
  const settings = { PROFILE: profile, P99: '60000', SPANS, SPANS_ONE_IN: '1', RUN_DIR: runDir };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const script = ['scenarios/run/run.ts', 'scenarios/ramp.js', ...args];
  const { exitCode, all = '' } = await node(script, { ...env, ...more });
  const run = await readRun(runDir, all);
  assertPass(run, exitCode);
  assertAllArrived(run);
  assert.equal(run.account.arrived, 400);
  return { run, all };
}

const free = async () => `127.0.0.1:${await freePort()}`;

test('a collector that is away costs its spans and nothing else', { concurrency: true }, async (t) => {
  const gone = `http://${await free()}`;
  await Promise.all([
    t.test('that of the pipeline', async (t) => {
      const { run } = await measure(t, 'files', { OTEL_EXPORTER_OTLP_ENDPOINT: gone });
      assert.deepEqual([run.spans?.sampled, run.spans?.traced], [400, 0]);
    }),
    t.test('that to which the run sends the spans on', async (t) => {
      const { run } = await measure(t, await free(), { OTEL_EXPORTER_OTLP_ENDPOINT: gone });
      assert.equal(run.spans?.count, 400, JSON.stringify(run.spans?.marks));
      assert.ok(
        run.errors.some((error) => error.class === 'not sent on'),
        JSON.stringify(run.errors),
      );
    }),
  ]);
});

test('stages by spans of our pipeline are those by stamps, for the same messages', async (t) => {
  const { run, all } = await measure(t, await free());
  assert.match(all, / spans +400 of 400 deliveries/);
  const { spans, latency } = run;
  assert.ok(spans);
  assert.deepEqual([spans.sampled, spans.traced, spans.count], [400, 400, 400], JSON.stringify(spans.marks));
  assert.deepEqual(spans.received, {
    ...{ requests: spans.received.requests, refused: 0, spans: 1600, own: 1600, linked: 0 },
    ...{ others: 0, malformed: 0, dropped: 0 },
  });
  assert.deepEqual(
    spans.stages.map(({ from, to }) => [from, to]),
    run.stages.map(({ from, to }) => [from, to]),
  );
  for (const [i, { name }] of run.stages.entries()) {
    const [bySpans, byStamps] = [spans.stages[i]?.p50 ?? Number.NaN, latencyOf(latency, name).p50 ?? 0];
    assert.ok(
      Math.abs(bySpans - byStamps) <= APART_MS,
      `${name}: ${bySpans} by spans, ${byStamps} by stamps`,
    );
  }
  assert.equal(spans.arrival.mean, latency.arrival.mean);
  assert.equal(spans.arrival.error, 0, 'all messages are sampled');
  assert.deepEqual(
    spans.slowest[0]?.spans.map(({ service, kind, depth }) => [service, kind, depth]),
    [
      ...[['arrival-ingest', 'server', 0] as const, ['arrival-ingest', 'producer', 1] as const],
      ...[['arrival-relay', 'consumer', 2] as const, ['arrival-relay', 'producer', 3] as const],
    ],
  );
});
