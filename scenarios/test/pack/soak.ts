import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../../../reports/contract/run.ts';
import { latencyDrift } from '../../lib/steadiness.js';
import { assertAllArrived, brokenOf, type Fate, type Pipeline } from '../harness.ts';

/** Two lines of two seconds, so that the compared quarters are a second each. */
const SHORT = { HOURS: 4 / 3600, LINE_MINUTES: 1 / 30, GROWTH_LIMIT: 10_000 };

/** Whether the growth of each process is known: on a busy machine a process may miss a second. */
function assertMemoryJudged({ figures = [], verdict }: Run): boolean {
  const memory = figures.filter(({ name }) => name.startsWith('memory of '));
  for (const process of ['k6', 'ingest', 'relay', 'redis', 'mosquitto'])
    assert.ok(
      memory.some(({ name }) => name.startsWith(`memory of ${process}`)),
      process,
    );
  const known = memory.every(({ value }) => value !== null);
  assert.equal(verdict.rules?.find(({ name }) => name === MEMORY)?.ok, known);
  return known;
}

const MEMORY = 'soak_memory_growth_mb';
const DRIFT = 'soak_latency_drift_ms';

/** The growth of p99, ms; null: unknown, as nothing arrived in one of the seconds. */
function driftOf({ figures, timeline }: Run): number | null {
  const drift = figures?.find(({ name }) => name === 'p99 has grown by');
  const ms = latencyDrift(timeline, 4);
  assert.deepEqual([drift?.value, drift?.unit], [Number.isNaN(ms) ? null : ms, 'ms']);
  return Number.isNaN(ms) ? null : ms;
}

/** Does it stay as it is? */
export function soaks(pipeline: Pipeline): void {
  test('soak: a line for each part, memory that is flat and latency that does not drift', async () => {
    const { run, exitCode, text } = await pipeline.run('soak.js', {
      ...SHORT,
      RATE: 50,
      DRIFT_LIMIT: 60_000,
    });
    assertAllArrived(run);
    const expected = driftOf(run) === null ? [DRIFT] : [];
    if (!assertMemoryJudged(run)) expected.push(MEMORY);
    assert.deepEqual(brokenOf(run), expected.sort());
    assert.equal(exitCode, run.verdict.result === 'pass' ? 0 : 99);
    assert.equal(run.steps.length, 2);
    for (const line of [1, 2])
      assert.match(
        text,
        new RegExp(`^${line}: 190 scheduled, [\\d,]+ deliveries, p50 [\\d.,]+ ms.* backlog [\\d,]+$`, 'm'),
      );
  });

  test('soak: latency that drifts fails it', async (t) => {
    // 20 a second: from the third second on each takes a second longer.
    const { env } = await pipeline.gateway(t, async (_, n): Promise<Fate> => {
      if (n >= 40) await sleep(1000);
      return 'pass';
    });
    const settings = { ...SHORT, RATE: 20, DRIFT_LIMIT: 100 };
    const { run, exitCode } = await pipeline.run('soak.js', settings, { ...env, CANARY: 'off' });
    assertAllArrived(run);
    assert.ok((run.latency.arrival.max ?? 0) >= 990);
    const drift = driftOf(run);
    // A machine that is that slow from the start hides it.
    const hidden = drift !== null && drift < 100;
    const expected = hidden ? [] : [DRIFT];
    if (!assertMemoryJudged(run)) expected.push(MEMORY);
    assert.deepEqual(brokenOf(run), expected.sort());
    if (!hidden) assert.equal(exitCode, 99);
  });
}
