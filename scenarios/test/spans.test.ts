import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../pipeline/stack/ports.ts';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { latencyOf, stagesOf } from '../../reports/contract/run.ts';
import { assertAllArrived, assertPass, node, place, readRun } from './harness.ts';

/** ms by which the means may differ: it takes as long to note a span after a stamp on a machine that is very busy. */
const APART_MS = 0.25;
const PROFILE = { phases: [{ duration: 4, arrivalRate: 100 }], flows: [{ name: 'direct', targets: 10 }] };

test('stages by spans of our pipeline are those by stamps, for the same messages', async (t) => {
  const [{ runDir, env }, dir] = [await place(t), await temporaryDirectory()];
  t.after(() => remove(dir));
  const profile = join(dir, 'profile.json');
  await writeFile(profile, JSON.stringify(PROFILE));
  const spansAt = `127.0.0.1:${await freePort()}`;
  const settings = { PROFILE: profile, P99: '60000', SPANS: spansAt, SPANS_ONE_IN: '1', RUN_DIR: runDir };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const { exitCode, all } = await node(['scenarios/run/run.ts', 'scenarios/ramp.js', ...args], env);
  assert.match(all ?? '', / spans +400 of 400 deliveries/);
  const run = await readRun(runDir);
  assertPass(run, exitCode);
  assertAllArrived(run);
  const { spans, latency } = run;
  assert.ok(spans);
  assert.deepEqual([spans.sampled, spans.traced, spans.count], [400, 400, 400], JSON.stringify(spans.marks));
  assert.deepEqual(spans.received, {
    ...{ requests: spans.received.requests, refused: 0, spans: 1600, own: 1600, linked: 0 },
    ...{ others: 0, malformed: 0, dropped: 0 },
  });
  assert.deepEqual(
    spans.stages.map(({ from, to }) => [from, to]),
    stagesOf(run).map(({ from, to }) => [from, to]),
  );
  for (const [i, { name }] of stagesOf(run).entries()) {
    const [bySpans, byStamps] = [spans.stages[i]?.mean ?? Number.NaN, latencyOf(latency, name).mean ?? 0];
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
