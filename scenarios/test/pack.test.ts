import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Run } from '../../reports/run.ts';
import { assertPass, k6, Pipeline, place } from './harness.ts';

/** Everything that was sent has arrived, once. */
function assertAllArrived({ account }: Run): void {
  assert.ok(account.scheduled > 0);
  assert.equal(account.arrived, account.scheduled);
  assert.equal(account.deliveries.missing, 0);
  assert.equal(account.duplicates, 0);
  assert.ok(account.balanced);
}

describe('a short form of each script', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  test('smoke', async () => {
    const { run, exitCode } = await pipeline.run('smoke.js', { DURATION: 1, RATE: 50 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(run.account.requests.sent, 50);
  });

  test('sweep: a row for each concurrency, each on a pipeline that has drained', async () => {
    const { run, exitCode, text } = await pipeline.run('sweep.js', { CONCURRENCY: '1,3', STEP_DURATION: 1 });
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.deepEqual(
      run.steps.map(({ vus }) => vus),
      [1, 3],
    );
    const [one, three] = run.steps as [Run['steps'][0], Run['steps'][0]];
    assert.ok(one.start_s + one.duration_s + (one.drained_s ?? Number.NaN) <= three.start_s + 0.001);
    for (const step of run.steps) {
      assert.equal(step.arrived, step.requests);
      assert.equal(typeof step.backlog, 'number');
    }
    assert.match(text, /vus {5}req\/s HTTP mean/);
  });
});

describe('a setting that makes no sense is told in one line', () => {
  const wrong: [script: string, setting: string, message: RegExp][] = [
    ['smoke.js', 'DURATION=soon', /^DURATION is "soon"; allowed: 0 to 1000000000$/],
    [
      'sweep.js',
      'CONCURRENCY=20..1',
      /^CONCURRENCY is "20\.\.1": 20 is above 1; allowed: 1\.\.20, .* from 1 to 10000$/,
    ],
    ['sweep.js', 'CONCURRENCY=0,1', /^CONCURRENCY is "0,1": out of range; allowed: /],
    ['sweep.js', 'CONCURRENCY=1..9/0', /^CONCURRENCY is "1\.\.9\/0": a step of 0 never ends; allowed: /],
    ['sweep.js', 'CONCURRENCY=5,5', /^CONCURRENCY is "5,5": not ascending; allowed: /],
    ['sweep.js', 'STEP_DURATION=0', /^STEP_DURATION is "0"; allowed: 0\.1 to 86400$/],
  ];
  test('each of them', async (t) => {
    const { env } = await place(t);
    await Promise.all(
      wrong.map(async ([script, setting, message]) => {
        const args = ['inspect', '--include-system-env-vars', '--log-format', 'raw', '-e', setting];
        const { stderr, exitCode } = await k6([...args, `scenarios/${script}`], env);
        const first = stderr.split('\n')[0]?.replace(/^(Error: )+/, '');
        assert.match(String(first), message, `${script} ${setting}`);
        assert.notEqual(exitCode, 0);
      }),
    );
  });
});
