import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../pipeline/test/services.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { ruleOf } from '../../../reports/rules.ts';
import { brokenOf, k6, type Pipeline, place, ROOT, readRun } from '../harness.ts';

/** k6's exit code for a test marked as failed. */
const MARKED = 110;
const SHORT = {
  ...{ WARMUP_RATE: 10, WARMUP_DURATION: 1, RATE: 20, RAMP_DURATION: 1, SUSTAINED_DURATION: 1 },
  P99: 0.001,
};

/** A script with no limits but those of THRESHOLDS, and without a summary. */
const BARE = `
import { sleep } from 'k6';
import { Run } from 'k6/x/arrival';
import { setting } from '${ROOT}/scenarios/lib/setting.js';
const run = new Run({
  name: 'bare',
  ...setting(),
  profile: 'phases: [{duration: 1, arrivalRate: 20}]\\nflows: [{name: direct}]',
});
export const options = { scenarios: run.scenarios(), thresholds: JSON.parse(__ENV.THRESHOLDS || '{}') };
export function subscriber() { run.collect(); }
export function sender() { run.send(); }
export function teardown() { sleep(Number(__ENV.TEARDOWN || 0)); }
`;

async function bare(t: TestContext): Promise<string> {
  const file = join((await place(t)).dir, 'bare.js');
  await writeFile(file, BARE);
  return file;
}

/** The run judges itself, whatever k6's flags say. */
export function verdicts(pipeline: Pipeline): void {
  for (const [name, env, judged, exit] of [
    ['without a summary', { K6_SUMMARY_MODE: 'disabled' }, true, 99],
    ['without thresholds', { K6_NO_THRESHOLDS: 'true' }, true, MARKED],
    ['with neither', { K6_NO_THRESHOLDS: 'true', K6_SUMMARY_MODE: 'disabled' }, null, MARKED],
  ] as const) {
    test(`${name}, a broken limit fails the run`, async () => {
      const { run, exitCode } = await pipeline.run('ramp.js', SHORT, env);
      const rule = ruleOf(run, 'arrival_p99');
      assert.deepEqual([rule?.value, rule?.limit], [run.latency.arrival.p99, SHORT.P99]);
      // On a busy machine the generator's lateness can leave open whose latency it is.
      assert.ok(rule?.ok === false || rule?.undecided, run.verdict.reasons.join());
      assert.equal(run.verdict.result, rule?.ok === false ? 'fail' : 'invalid', run.verdict.reasons.join());
      assert.equal(ruleOf(run, 'http_req_failed rate')?.ok, judged, 'null if k6 does not count it');
      assert.equal(exitCode, exit);
    });
  }

  test('a limit that was not judged prevents a pass', async () => {
    const env = { K6_NO_THRESHOLDS: 'true', K6_SUMMARY_MODE: 'disabled' };
    const { run } = await pipeline.run('ramp.js', { ...SHORT, P99: 60_000 }, env);
    assert.notEqual(run.verdict.result, 'pass');
    assert.match(run.verdict.reasons.join(), /not judged: http_req_failed rate < 0\.01/);
  });

  test('a script without thresholds fails when messages are rejected, and so does k6', async (t) => {
    const { env } = await pipeline.gateway(t, (_, n) => (n === 3 ? 'refuse' : 'pass'));
    const { run, exitCode } = await pipeline.run(await bare(t), {}, { ...env, CANARY: 'off' });
    assert.equal(run.account.rejected, 1);
    assert.deepEqual(brokenOf(run), ['rejected', 'requests_failed']);
    assert.equal(exitCode, MARKED);
    const allowed = { THRESHOLDS: '{"arrival_rejected":["count<5"]}' };
    const { run: own } = await pipeline.run(await bare(t), allowed, { ...env, CANARY: 'off' });
    assert.deepEqual(brokenOf(own), [], 'nothing was rejected, and the script has its own limit');
    assert.ok(ruleOf(own, 'arrival_rejected')?.ok);
  });

  test('a run killed after its last arrival but before k6 judged does not pass', async (t) => {
    const { dir, env } = await place(t);
    const file = join(dir, 'run', 'run.json');
    const settings = ['-e', 'TEARDOWN=60', '-e', 'THRESHOLDS={"http_req_failed":["rate<0.01"]}'];
    const child = k6(['run', '-q', ...settings, await bare(t)], {
      ...env,
      ...pipeline.env,
      RUN_DIR: join(dir, 'run'),
    });
    const ended = () =>
      existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as Run).run.ended !== null;
    await eventually(ended);
    child.kill('SIGKILL');
    await child;
    const run = await readRun(join(dir, 'run'));
    assert.equal(run.account.arrived, 20);
    assert.notEqual(run.verdict.result, 'pass');
    assert.match(run.verdict.reasons.join(), /not judged: http_req_failed rate < 0\.01/);
  });
}
