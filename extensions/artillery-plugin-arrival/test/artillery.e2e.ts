/** `npm run test:artillery`: the plugin in Artillery, against a real pipeline. Installs it if needed. */
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import { eventually, remove } from '../../../pipeline/test/services.ts';
import type { Addition, Comparison } from '../../../reports/comparison/comparison.ts';
import { latencyOf, type Run, STAGES, type Step } from '../../../reports/contract/run.ts';
import { dataOf, shownRun } from '../../../reports/render.ts';
import { atOnce, listen, node, Pipeline, place, ROOT, readRun } from '../../../scenarios/test/harness.ts';

const MAIN = 'scenarios/run/artillery.ts';
const COMPARE = 'scenarios/campaigns/compare/main.ts';
const RAMP = 'scenarios/ramp.artillery.yml';
const SWEEP = 'scenarios/sweep.artillery.yml';
const SESSIONS = 'scenarios/phases.artillery.yml';

function assertAllArrived({ account }: Run, text: string): void {
  assert.ok(account.balanced, text);
  assert.ok(account.scheduled > 0, text);
  assert.equal(account.arrived, account.scheduled, text);
}

describe('Artillery with the plugin', () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  /** A profile of scenarios/profiles with other phases. */
  async function shortened(name: string, phases: (of: object[]) => object[]): Promise<string> {
    const profile = parse(await readFile(join(ROOT, `scenarios/profiles/${name}.yml`), 'utf8'));
    const file = join(pipeline.env.STACK_DIR as string, `${name}.yml`);
    await writeFile(file, stringify({ ...profile, phases: phases(profile.phases) }));
    return file;
  }

  async function artillery(name: string, config: object, env: NodeJS.ProcessEnv = {}, script = RAMP) {
    const dir = join(pipeline.env.STACK_DIR as string, name);
    const args = [MAIN, script, '--overrides', JSON.stringify({ config })];
    const { exitCode, all } = await node(args, { ...pipeline.env, RUN_DIR: dir, ...env });
    return { exitCode, text: String(all), dir };
  }

  /** Runs two virtual users for a second, with sweep.artillery.yml and other steps in its loop. */
  async function looped(name: string, loop: object[], profile: string) {
    const script = parse(await readFile(join(ROOT, SWEEP), 'utf8'));
    script.scenarios[0].flow[0].loop = loop;
    const file = join(pipeline.env.STACK_DIR as string, `${name}.yml`);
    await writeFile(file, stringify(script));
    const config = { phases: [{ duration: 1, arrivalCount: 2 }], plugins: { arrival: { profile } } };
    return artillery(name, config, {}, file);
  }

  test('a run writes what k6 writes: a complete account, stages that add up, a page', async () => {
    const phases = [
      { name: 'warm-up', duration: 2, arrivalRate: 10 },
      { name: 'sustained', duration: 4, arrivalRate: 20 },
    ];
    const { exitCode, text, dir } = await artillery('small', { phases });
    const run = await readRun(dir, text);
    const { account, latency, verdict } = run;
    assert.equal(run.run.tool.name, 'artillery');
    assert.deepEqual(account.requests, { scheduled: 100, sent: 100, retried: 0, failed: 0 });
    assert.equal(account.scheduled, 190, '70 alone, 20 to rooms, 10 batches of 10');
    assert.equal(account.arrived, account.scheduled);
    assert.ok(account.balanced);
    assert.deepEqual(account.deliveries, { due: 270, arrived: 270, missing: 0 });
    assert.equal(latency.http.count, 80, 'only of the measured phase');
    const sum = STAGES.reduce((total, stage) => total + (latencyOf(latency, stage).mean as number), 0);
    assert.ok(Math.abs(sum - (latency.arrival.mean as number)) < 0.001);
    assert.ok((latencyOf(latency, 'schedule').min as number) >= 0, 'nothing is sent before it is due');
    assert.ok(run.canary !== null && run.canary.arrived > 0);
    assert.ok(run.resources.some(({ process }) => process === 'relay-1'));
    // A busy machine may make the generator late; then the run says so.
    const others = verdict.reasons.filter((reason) => !/^the generator was (late|out of CPU)/.test(reason));
    assert.deepEqual(others, []);
    assert.equal(exitCode, verdict.result === 'pass' ? 0 : 99);
    const lines = (await readFile(join(dir, 'timeline.ndjson'), 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => atOnce(JSON.parse(line))),
      run.timeline.map(atOnce),
    );
    assert.match(await readFile(join(dir, 'arrival.hlog'), 'utf8'), /Tag=arrival,/);
    assert.equal(shownRun(await readFile(join(dir, 'index.html'), 'utf8')).run.id, run.run.id);
    assert.match(text, /arrival\.latency:/, "Artillery's own report shows it");
    assert.match(text, /arrival\.lost: \.+ 0/);
  });

  test('sweep: each step holds its concurrency and begins when the last one has drained', async () => {
    const steps = [1, 3].map((vus) => ({ name: `${vus}`, vus, duration: 1, drain: 60 }));
    const profile = await shortened('sweep', () => steps);
    const phases = [{ duration: 1, arrivalCount: 3 }];
    const { text, dir } = await artillery('sweep', { phases, plugins: { arrival: { profile } } }, {}, SWEEP);
    const run = await readRun(dir, text);
    assertAllArrived(run, text);
    assert.equal(run.run.model, 'closed');
    assert.deepEqual(
      run.steps.map(({ name, vus }) => [name, vus]),
      [
        ['1', 1],
        ['3', 3],
      ],
    );
    const [first, second] = run.steps as [Step, Step];
    assert.ok(first.requests > 0 && second.requests > 0, text);
    const drained = first.drained_s ?? assert.fail(text);
    assert.ok(second.start_s >= first.start_s + first.duration_s + drained);
    assert.equal(latencyOf(run.latency, 'schedule').max, 0, 'a message is due when it is sent');
    assert.match(text, /vusers\.failed: \.+ 0/);
  });

  test('a loop takes turns of the flow that its first post names', async () => {
    const profile = await shortened('sweep', () => [{ name: '2', vus: 2, duration: 1 }]);
    const { phases, flows } = parse(await readFile(profile, 'utf8'));
    await writeFile(profile, stringify({ phases, flows: [...flows, { ...flows[0], name: 'other' }] }));
    const loop = [{ think: 0.01 }, { post: { name: 'other', url: '/messages' } }];
    const { text, dir } = await looped('named', loop, profile);
    const run = await readRun(dir, text);
    assertAllArrived(run, text);
    const [direct, other] = run.flows;
    assert.deepEqual([direct?.scheduled, other?.name], [0, 'other']);
    assert.ok((other?.scheduled as number) > 2, text);
    assert.match(text, /vusers\.failed: \.+ 0/);
  });

  // Regression: the loop took a turn for a post that was skipped, and the next round took another: the first was dropped.
  test('a post that is skipped by chance takes no turn', async () => {
    const profile = await shortened('sweep', () => [{ name: '2', vus: 2, duration: 1 }]);
    const loop = [{ think: 0.01 }, { post: { url: '/messages', probability: 30 } }];
    const { text, dir } = await looped('skipped', loop, profile);
    const run = await readRun(dir, text);
    assertAllArrived(run, text);
    assert.equal(run.account.requests.sent, run.account.requests.scheduled, text);
  });

  test('sessions: one login before the run, a CSV row each, captures and think times', async (t) => {
    const logins: string[] = [];
    const login = createServer((request, response) => {
      request.on('data', (chunk) => logins.push(String(chunk)));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ token: pipeline.stack.file.ingest.token }));
      });
    });
    const at = await listen(t, login);
    const config = {
      phases: [
        { name: 'warm-up', duration: 1, arrivalRate: 10 },
        { name: 'ramp', duration: 1, arrivalRate: 10, rampTo: 20 },
        { name: 'sustained', duration: 1, arrivalRate: 20 },
      ],
      variables: { shortThink: '50ms', longThink: '100ms' },
    };
    const env = { LOGIN_URL: `http://${at}/login`, LOGIN_USER: 'ada', LOGIN_PASSWORD: 'x' };
    const { text, dir } = await artillery('phases', config, env, SESSIONS);
    const run = await readRun(dir, text);
    assertAllArrived(run, text);
    assert.deepEqual(logins, ['{"user":"ada","password":"x"}']);
    const sent = new Map(run.flows.map(({ name, scheduled }) => [name, scheduled]));
    assert.deepEqual([...sent.keys()], ['browse', 'view', 'join', 'write']);
    assert.equal(run.run.model, 'open');
    assert.equal(run.steps[0]?.measured, false);
    assert.ok((sent.get('browse') as number) > 0 && (sent.get('view') as number) > 0, text);
    assert.match(text, /vusers\.failed: \.+ 0/, 'every capture was found');
  });

  test("a rate beyond Artillery's limit puts arrival in doubt, and its account balances", async () => {
    const phases = [{ name: 'flood', duration: 2, arrivalRate: 5000 }];
    const { exitCode, text, dir } = await artillery('flood', { phases });
    const { verdict, facts, account } = await readRun(dir, text);
    const late = facts.doubts.find(({ claim, by }) => claim === 'arrival' && by.includes('lateness'));
    assert.match(late?.text ?? '', /the generator was late: lateness p99/);
    assert.ok(account.balanced);
    assert.equal(account.lost, 0);
    assert.equal(exitCode, verdict.result === 'pass' ? 0 : 99);
  });

  test('npx artillery run works alone, and ensure fails it above its limit of arrival', async () => {
    const phases = [{ name: 'sustained', duration: 2, arrivalRate: 10 }];
    const profile = join(import.meta.dirname, '../../../scenarios/profiles/ramp.yml');
    const ensure = { thresholds: [{ 'arrival.latency.p99': 0.001 }, { 'arrival.lost': 1 }] };
    const config = { phases, plugins: { arrival: { profile }, ensure } };
    const args = ['artillery', 'run', RAMP, '--overrides', JSON.stringify({ config })];
    const env = { ...pipeline.env, RUN_DIR: join(pipeline.env.STACK_DIR as string, 'ensure') };
    const { exitCode, all } = await execa('npx', args, { cwd: ROOT, env, reject: false, all: true });
    const text = String(all);
    assertAllArrived(await readRun(env.RUN_DIR, text), text);
    assert.match(text, /fail: arrival\.latency\.p99 < 0\.001/);
    assert.match(text, /ok: arrival\.lost < 1/);
    assert.notEqual(exitCode, 0);
  });

  test('Ctrl-C leaves an incomplete run with a report', async () => {
    const dir = join(pipeline.env.STACK_DIR as string, 'interrupted');
    const config = { phases: [{ name: 'sustained', duration: 60, arrivalRate: 10 }] };
    const args = [MAIN, RAMP, '--overrides', JSON.stringify({ config })];
    const command = node(args, { ...pipeline.env, RUN_DIR: dir });
    const seconds = join(dir, 'timeline.ndjson');
    await eventually(() => existsSync(seconds) && statSync(seconds).size > 0, 'a second of the run', 60_000);
    command.kill('SIGINT');
    const { exitCode, all } = await command;
    const text = String(all);
    assert.equal(exitCode, 130, text);
    assert.match(text, /report +\S+interrupted\/index\.html$/m);
    const { verdict, account } = await readRun(dir, text);
    assert.equal(verdict.result, 'incomplete');
    assert.ok(account.balanced);
  });

  test('publish-metrics publishes the arrival metrics too', async (t) => {
    const pushed: string[] = [];
    const gateway = createServer((request, response) => {
      request.on('data', (chunk) => pushed.push(String(chunk)));
      request.on('end', () => response.end());
    });
    const to = [{ type: 'prometheus', pushgateway: `http://${await listen(t, gateway)}` }];
    const phases = [{ name: 'sustained', duration: 2, arrivalRate: 10 }];
    const profile = join(ROOT, 'scenarios/profiles/ramp.yml');
    const plugins = { arrival: { profile }, 'publish-metrics': to };
    const { text } = await artillery('published', { phases, plugins });
    const pushes = pushed.join('\n');
    assert.match(pushes, /artillery_summaries\{metric="arrival_latency_p99"[^}]*\} [\d.]+/, text);
    assert.match(pushes, /artillery_counters\{metric="arrival_arrived"[^}]*\} \d+/, text);
  });

  test('an invalid setting fails with one line before anything is sent', async () => {
    const { ingest, redis } = pipeline.stack.file;
    const own = { INGEST_URL: ingest.url, INGEST_TOKEN: ingest.token, REDIS_URL: redis.url };
    const cases: [config: object, env: NodeJS.ProcessEnv, says: RegExp][] = [
      [
        { plugins: { arrival: { profile: 'none.yml' } } },
        {},
        /^arrival: \S+none\.yml cannot be read: ENOENT/m,
      ],
      [
        { plugins: { arrival: { idd: 'id' } } },
        {},
        /^arrival: config\.plugins\.arrival has idd, which is not known, id is; allowed: /m,
      ],
      [{ plugins: { arrival: { qos: 7 } } }, {}, /^arrival: .*qos.* 7/m],
      [{ plugins: { arrival: { id: 'other' } } }, {}, /^arrival: .*HTTP 400/m],
      [{}, { ...own, MQTT_URL: 'mqtt://127.0.0.1:1' }, /^arrival: .*127\.0\.0\.1:1.*refused$/m],
    ];
    for (const [config, env, says] of cases) {
      const { exitCode, text } = await artillery('wrong', config, env);
      assert.match(text, says);
      assert.equal(exitCode, 1, text);
      assert.doesNotMatch(text, /^\s+at /m, 'no stack trace');
    }
  });
});

test('the plugin measures a pipeline with TLS and its own authority', async () => {
  const pipeline = await Pipeline.start({ TLS: 'true' });
  try {
    assert.match(pipeline.stack.file.ingest.url, /^https:/);
    assert.match(pipeline.stack.file.mqtt.url, /^mqtts:/);
    assert.match(pipeline.stack.file.redis.url, /^rediss:/);
    const dir = join(pipeline.env.STACK_DIR as string, 'tls-run');
    const config = { phases: [{ name: 'sustained', duration: 2, arrivalRate: 10 }] };
    const args = [MAIN, RAMP, '--overrides', JSON.stringify({ config })];
    const { all } = await node(args, { ...pipeline.env, RUN_DIR: dir });
    const run = await readRun(dir, all);
    assertAllArrived(run, String(all));
  } finally {
    await pipeline.stop();
  }
});

test('compare over a network measures both tools on the same path and reports agreement', async (t) => {
  const { env } = await place(t);
  const flags = '--network wan --delay 20 --rate 40 --duration 2 --repeat 1 --most 0'.split(' ');
  const { all, exitCode } = await node([COMPARE, ...flags], env);
  const text = String(all);
  const page = /^report {2}(reports\/comparisons\/\S+)$/m.exec(text)?.[1] ?? assert.fail(text);
  t.after(() => remove(dirname(join(ROOT, page))));
  const { subjects, additions = [] } = dataOf(await readFile(join(ROOT, page), 'utf8')) as Comparison;
  const names = subjects.flatMap(({ runs }) => runs.map(({ name }) => name));
  for (const name of names) t.after(() => remove(join(ROOT, 'reports/runs', name)));
  assert.equal(exitCode, 0, text);
  assert.equal(names.length, 2);
  for (const name of names) {
    const run = await readRun(join(ROOT, 'reports/runs', name));
    assertAllArrived(run, text);
    assert.equal(run.run.network, 'wan');
    assert.equal(run.clock?.one_host, true, 'namespaces share one host');
    assert.ok((run.latency.http.min ?? 0) >= 40, text);
    assert.ok((latencyOf(run.latency, 'delivery').min ?? 0) >= 20, text);
  }
  assert.deepEqual(
    additions.map(({ title }) => title),
    ['Agreement', 'Generators'],
  );
  const [agreement] = additions as [Addition];
  assert.deepEqual(
    agreement.rows.map(([name]) => name),
    ['arrival p50', 'arrival p99', 'from send p50', 'from send p99'],
  );
  assert.match(text, /^(The tools (do not )?agree on|Whether the tools agree is unknown)/m);
});
