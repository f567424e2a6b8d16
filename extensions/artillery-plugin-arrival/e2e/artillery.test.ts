/** `npm run test:artillery`: the plugin in Artillery, against a real pipeline. Installs Artillery on first use. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { shownRun } from '../../../reports/render.ts';
import { STAGES } from '../../../reports/run.ts';
import { node, Pipeline, readRun } from '../../../scenarios/test/harness.ts';

const MAIN = 'extensions/artillery-plugin-arrival/run.ts';
const RAMP = 'scenarios/ramp.artillery.yml';

describe('Artillery with the plugin', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  async function artillery(name: string, config: object, env: NodeJS.ProcessEnv = {}) {
    const dir = join(pipeline.env.STACK_DIR as string, name);
    const args = [MAIN, RAMP, '--overrides', JSON.stringify({ config })];
    const { exitCode, all } = await node(args, { ...pipeline.env, RUN_DIR: dir, ...env });
    return { exitCode, text: String(all), dir };
  }

  test('a run leaves what one of k6 leaves: every message accounted for, stages that add up, one page', async () => {
    const phases = [
      { name: 'warm-up', duration: 2, arrivalRate: 10 },
      { name: 'sustained', duration: 4, arrivalRate: 20 },
    ];
    const { exitCode, text, dir } = await artillery('small', { phases });
    const run = await readRun(dir).catch((error) => assert.fail(`${error}\n${text}`));
    const { account, latency, verdict } = run;
    assert.equal(run.run.tool.name, 'artillery');
    assert.deepEqual(account.requests, { scheduled: 100, sent: 100, retried: 0 });
    assert.equal(account.scheduled, 190, '70 alone, 20 to rooms, 10 batches of 10');
    assert.equal(account.arrived, account.scheduled);
    assert.ok(account.balanced);
    assert.deepEqual(account.deliveries, { due: 270, arrived: 270, missing: 0 });
    assert.equal(latency.http.count, 80, 'of the measured phase');
    const sum = STAGES.reduce((total, stage) => total + (latency.stages[stage].mean as number), 0);
    assert.ok(Math.abs(sum - (latency.arrival.mean as number)) < 0.001);
    assert.ok((latency.stages.schedule.min as number) >= 0, 'nothing is sent before it is due');
    assert.ok(run.canary !== null && run.canary.arrived > 0);
    assert.ok(run.resources.some(({ process }) => process === 'relay-1'));
    // A busy machine may make it late: then it says so.
    const others = verdict.reasons.filter((reason) => !/^the generator (was late|used more)/.test(reason));
    assert.deepEqual(others, []);
    assert.equal(exitCode, verdict.result === 'pass' ? 0 : 99);
    const lines = (await readFile(join(dir, 'timeline.ndjson'), 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      run.timeline,
    );
    assert.match(await readFile(join(dir, 'arrival.hlog'), 'utf8'), /Tag=arrival,/);
    assert.equal(shownRun(await readFile(join(dir, 'index.html'), 'utf8')).run.id, run.run.id);
    assert.match(text, /arrival\.latency:/, "Artillery's own report has it");
    assert.match(text, /arrival\.lost: \.+ 0/);
  });

  test('beyond its reach a run is invalid, with the reason, and its account balances', async () => {
    const phases = [{ name: 'flood', duration: 2, arrivalRate: 5000 }];
    const { exitCode, text, dir } = await artillery('flood', { phases });
    const { verdict, account } = await readRun(dir).catch((error) => assert.fail(`${error}\n${text}`));
    assert.equal(verdict.result, 'invalid');
    assert.match(verdict.reasons.join('\n'), /the generator was late: schedule p99/);
    assert.ok(account.balanced);
    assert.equal(account.lost, 0);
    assert.equal(exitCode, 99);
  });

  test('ensure fails the command when arrival is slower than it asks for', async () => {
    const phases = [{ name: 'sustained', duration: 2, arrivalRate: 10 }];
    const profile = join(import.meta.dirname, '../../../scenarios/profiles/ramp.yml');
    const ensure = { thresholds: [{ 'arrival.latency.p99': 0.001 }, { 'arrival.lost': 1 }] };
    const { exitCode, text } = await artillery('ensure', {
      phases,
      plugins: { arrival: { profile }, ensure },
    });
    assert.match(text, /fail: arrival\.latency\.p99 < 0\.001/);
    assert.match(text, /ok: arrival\.lost < 1/);
    assert.notEqual(exitCode, 0);
  });

  test('what is wrong is told in one line, before anything is sent', async () => {
    const { ingest, redis } = pipeline.stack.file;
    const own = { INGEST_URL: ingest.url, INGEST_TOKEN: ingest.token, REDIS_URL: redis.url };
    const cases: [config: object, env: NodeJS.ProcessEnv, says: RegExp][] = [
      [
        { plugins: { arrival: { idd: 'id' } } },
        {},
        /^arrival: config\.plugins\.arrival\.idd is not known; allowed: /m,
      ],
      [
        { plugins: { arrival: { id: 'other' } } },
        {},
        /^arrival: the ingest \S+ refuses messages: HTTP 400 .*; has it another name for the id than other\?$/m,
      ],
      [
        {},
        { ...own, MQTT_URL: 'mqtt://127.0.0.1:1' },
        /^arrival: the broker 127\.0\.0\.1:1 refused \(MQTT_URL\): .+$/m,
      ],
    ];
    for (const [config, env, says] of cases) {
      const { exitCode, text } = await artillery('wrong', config, env);
      assert.match(text, says);
      assert.equal(exitCode, 1, text);
      assert.doesNotMatch(text, /^\s+at /m, 'no stack trace');
    }
  });
});
