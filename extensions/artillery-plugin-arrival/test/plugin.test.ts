/** The whole plugin without Artillery, whose part engine.ts plays, so that `npm test` notices when it breaks. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { junit, summary } from '../../../reports/ci.ts';
import { assertPass, node, Pipeline, readRun } from '../../../scenarios/test/harness.ts';

const RAMP = join(import.meta.dirname, '../../../scenarios/ramp.artillery.yml');
const ENGINE = join(import.meta.dirname, 'engine.ts');

describe('the plugin', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  async function run(change: (config: Record<string, unknown>) => void = () => {}, place = 'run') {
    const script = parse(readFileSync(RAMP, 'utf8'));
    script.config.phases = [{ name: 'sustained', duration: 1, arrivalRate: 40 }];
    change(script.config);
    const dir = join(pipeline.env.STACK_DIR as string, place);
    const env = { ...pipeline.env, RUN_DIR: dir, LABELS: 'build=17, branch=main' };
    const { exitCode, all } = await node([ENGINE, JSON.stringify({ path: RAMP, script })], env);
    return { exitCode, text: String(all), dir };
  }

  test('stamps, sends on time, accounts for every message and tells its metrics', async () => {
    const { exitCode, text, dir } = await run();
    const left = await readRun(dir).catch((error) => assert.fail(`${error}\n${text}`));
    assertPass(left, exitCode);
    for (const [name, text] of Object.entries({ 'junit.xml': junit(left), 'summary.md': summary(left) })) {
      assert.equal(readFileSync(join(dir, name), 'utf8'), text);
    }
    assert.deepEqual(left.run.labels, { build: '17', branch: 'main' });
    assert.deepEqual(left.account.requests, { scheduled: 40, sent: 40, retried: 0 });
    assert.equal(left.account.arrived, left.account.scheduled);
    assert.ok(left.account.balanced);
    assert.ok((left.latency.stages.schedule.min as number) >= 0, 'nothing is sent before it is due');
    const metrics = JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? assert.fail(text));
    assert.equal(metrics['arrival.latency'], left.account.deliveries.arrived);
    assert.equal(metrics['arrival.arrived'], left.account.arrived);
    assert.equal(metrics['arrival.lost'], 0);
  });

  // Virtual users waited for ever for the end of a run that nobody recorded any more.
  for (const [what, place, made, says] of [
    ['at its first request', 'file/run', 'file', /^arrival: the recorder failed: ENOTDIR: .*$/m],
    ['at its end', 'full', 'full/run.json.draft/', /^arrival: the recorder failed: EISDIR: .*$/m],
  ] as const) {
    test(`a record that cannot be written ends the run ${what}, in one line`, async () => {
      const path = join(pipeline.env.STACK_DIR as string, made);
      if (made.endsWith('/')) mkdirSync(path, { recursive: true });
      else writeFileSync(path, '');
      const { exitCode, text } = await run(undefined, place);
      assert.match(text, says);
      assert.equal(text.match(/the recorder failed/g)?.length, 1, text);
      assert.equal(exitCode, 1);
    });
  }

  test('an option that is wrong ends it in one line', async () => {
    const { exitCode, text } = await run((config) => {
      config.plugins = { arrival: { profile: 'profiles/ramp.yml', qoss: 1 } };
    });
    assert.match(
      text,
      /^arrival: config\.plugins\.arrival\.qoss is not known; allowed: profile, id, [^\n]+$/,
    );
    assert.equal(exitCode, 1);
  });
});
