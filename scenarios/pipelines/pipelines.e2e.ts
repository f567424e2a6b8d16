/** Pipelines that are not ours, measured by the commands that their files have. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { isInstalled, NCHAN } from '../../pipeline/setup/packages.mjs';
import type { Launch } from '../../pipeline/stack/launch.ts';
import { freePort } from '../../pipeline/stack/ports.ts';
import { openLink } from '../../pipeline/test/link.ts';
import { eventually, remove, Service, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, brokenOf, node, ROOT, readRun } from '../test/harness.ts';

const HERE = import.meta.dirname;
const PYTHON = join(ROOT, '.stack/python');
const NATS = join(ROOT, '.stack/nats-server');
/** 60 messages, with a latency limit that holds on any machine. */
const LOAD = { RATE: '60', DURATION: '1', P99: '60000' };

/** A server without users. */
async function start(
  t: TestContext,
  name: string,
  ready: RegExp,
  args: (port: number, dir: string) => string[],
) {
  const [dir, port] = [await temporaryDirectory(), await freePort()];
  const launch = { name, command: name, args: args(port, dir) };
  await writeFile(join(dir, 'conf'), `listener ${port} 127.0.0.1\nallow_anonymous true\n`);
  await serve(t, dir, launch, ready);
  return port;
}

async function serve(t: TestContext, dir: string, launch: Launch, ready: RegExp) {
  const service = new Service(dir, async () => launch, ready);
  t.after(() => service.remove());
  await service.start();
}

async function startRedis(t: TestContext) {
  const port = await start(t, 'redis-server', /Ready to accept connections/, (port, dir) => [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--dir',
    dir,
  ]);
  return `redis://127.0.0.1:${port}`;
}

/** Starts a pipeline, and returns when it answers HTTP. */
async function startTheirs(
  t: TestContext,
  command: string,
  args: string[],
  port: number,
  env: NodeJS.ProcessEnv,
) {
  const theirs = execa(command, args, { env, reject: false, all: true });
  t.after(async () => {
    theirs.kill();
    await theirs;
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    `${command} at ${url}`,
  );
  return url;
}

/** Builds and starts a pipeline in Go. */
async function startGo(t: TestContext, folder: string, env: NodeJS.ProcessEnv) {
  const program = join(await directory(t), 'program');
  await execa('go', ['build', '-buildvcs=false', '-o', program, '.'], { cwd: join(HERE, folder) });
  const port = await freePort();
  return startTheirs(t, program, [`127.0.0.1:${port}`], port, env);
}

/** Measures with a script as `npm run scenario` does. */
async function scenario(t: TestContext, script: string, settings: NodeJS.ProcessEnv) {
  const RUN_DIR = await directory(t);
  const env = { ...LOAD, WARMUP: '0.5', NO_COLOR: '1', RUN_DIR, ...settings };
  const { exitCode, all = '' } = await node(['scenarios/run/run.ts', `scenarios/${script}`], env);
  return { RUN_DIR, exitCode, all };
}

/** Measures, and every message arrives. */
async function passes(t: TestContext, script: string, settings: NodeJS.ProcessEnv) {
  const { RUN_DIR, exitCode, all } = await scenario(t, script, settings);
  const run = await readRun(RUN_DIR, all);
  assertPass(run, exitCode);
  assertAllArrived(run);
  return { RUN_DIR, run };
}

/** The questions that are asked of each pipeline, and the settings of a short form beside LOAD. */
const QUESTIONS = {
  'ramp.js': { WARMUP_RATE: '30', WARMUP_DURATION: '0.5', RAMP_DURATION: '0.5', SUSTAINED_DURATION: '1' },
  'capacity.js': {},
  'spike.js': { BEFORE: '1', SPIKE_RATE: '120', SPIKE_DURATION: '0.5', AFTER: '1', BACK: '1000' },
};

/** Asks the questions, and every message arrives. */
async function answers(t: TestContext, settings: NodeJS.ProcessEnv) {
  for (const [script, short] of Object.entries(QUESTIONS)) {
    const { RUN_DIR, all } = await scenario(t, script, { ...settings, ...short });
    assertAllArrived(await readRun(RUN_DIR, all));
  }
}

/** Lets one message go round by a pipeline file, and returns what is printed. */
async function tries(t: TestContext, text: string, env: NodeJS.ProcessEnv = {}) {
  const file = await directory(t);
  await writeFile(file, text);
  const { exitCode, all } = await execa(join(ROOT, 'k6'), ['x', 'arrival', 'try', file], {
    env,
    reject: false,
    all: true,
  });
  return `${exitCode} ${all}`;
}

/** Starts the pipeline of flask/, and returns the settings of its run. */
async function startFlask(t: TestContext, instrument: string[], more: NodeJS.ProcessEnv) {
  const REDIS_URL = await startRedis(t);
  const broker = await start(t, 'mosquitto', / running$/, (_, dir) => ['-c', join(dir, 'conf')]);
  const port = await freePort();
  const env = { REDIS_URL, MQTT_PORT: `${broker}`, PORT: `${port}`, PYTHONPATH: PYTHON, ...more };
  const args = [...instrument, join(HERE, 'flask/app.py')];
  return {
    INGEST_URL: await startTheirs(t, 'python3', args, port, env),
    MQTT_URL: `mqtt://127.0.0.1:${broker}`,
    INGEST_PATH: '/events',
    BODY: '{"id":{{id}},"user":"{{target}}"}',
    ID_FORMAT: 'number',
    TOPIC_PREFIX: 'users/',
    MQTT_VERSION: '3.1.1',
  };
}

/** Starts the pipeline of bullmq/, and returns the settings of its run. */
async function startBullmq(t: TestContext, flags: string[], more: NodeJS.ProcessEnv) {
  const port = await freePort();
  const env = { REDIS_URL: await startRedis(t), PORT: `${port}`, ...more };
  const args = [...flags, join(HERE, 'bullmq/app.js')];
  return {
    INGEST_URL: await startTheirs(t, process.execPath, args, port, env),
    WEBHOOK_ADDRESS: `127.0.0.1:${await freePort()}`,
    INGEST_PATH: '/orders',
    BODY: '{"order":"{{id}}","callback":"{{webhook}}"}',
  };
}

type Protocol = 'grpc' | 'http/protobuf';

/** OpenTelemetry's variables of a pipeline that sends its spans to a run. */
function instrumented(spansAt: string, protocol: Protocol): NodeJS.ProcessEnv {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${spansAt}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_SERVICE_NAME: 'theirs',
    OTEL_BSP_SCHEDULE_DELAY: '500',
  };
}

/** Measures, and each sampled message has these marks by the pipeline's own spans. Returns the marks that are proposed. */
async function marksBySpans(t: TestContext, script: string, settings: NodeJS.ProcessEnv, marks: string[]) {
  const { RUN_DIR, run } = await passes(t, script, { ...settings, SPANS_ONE_IN: '2' });
  assert.ok(run.spans && run.spans.sampled > 0);
  assert.equal(run.spans.count, run.spans.sampled, JSON.stringify(run.spans.marks));
  assert.deepEqual(
    run.spans.stages.map(({ to }) => to),
    ['sent', ...marks, 'arrived'],
  );
  const { stdout } = await execa(join(ROOT, 'k6'), ['x', 'arrival', 'spans', '--suggest', RUN_DIR]);
  return stdout;
}

async function directory(t: TestContext) {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  return join(dir, 'run');
}

// Why a test is skipped.
const noPython = existsSync(join(PYTHON, 'flask'))
  ? false
  : 'npm run setup -- --test installs its packages, if there is pip';
const noNats = existsSync(NATS) ? false : 'npm run setup -- --test builds nats-server';
const noBullmq = existsSync(join(HERE, 'bullmq/node_modules/.installed'))
  ? false
  : 'npm run setup -- --test installs its packages';
const noNchan = isInstalled(NCHAN) && isInstalled('nginx') ? false : `nginx has no ${NCHAN}`;

// They mostly wait.
describe('pipelines that are not ours', { concurrency: 2 }, () => {
  test('Flask, a Redis list and MQTT 3.1.1, with numeric ids in an envelope', {
    skip: noPython,
  }, async (t) => {
    const settings = await startFlask(t, [], {});
    await passes(t, 'own.js', { ...settings, ID_FROM: 'json:$.meta.id' });
    await answers(t, { ...settings, ID_FROM: 'json:$.meta.id' });
    const measure = (more: NodeJS.ProcessEnv) => scenario(t, 'own.js', { ...settings, ...more });
    const file = (from: string) => `
ingest: { url: '${settings.INGEST_URL}', path: ${settings.INGEST_PATH} }
body: '${settings.BODY}'
id: { format: number, from: '${from}' }
arrive: { mqtt: { url: '${settings.MQTT_URL}', topicPrefix: users/, version: 3.1.1 } }
`;
    assert.match(await tries(t, file('json:$.meta.id')), /^0 (?=.*\barrived\b).*json:\$\.meta\.id/s);
    assert.match(await tries(t, file('json:$.id')), /^99 .*first message.*ID_FROM.*meta/s);
    // What is wrong is said before the load, with the end at which the first message stopped.
    assert.match((await measure({ ID_FROM: 'json:$.id' })).all, /first message.*ID_FROM.*meta/);
    assert.match((await measure({ INGEST_PATH: '/elsewhere' })).all, /elsewhere refuses messages: HTTP 404/);
    assert.match((await measure({})).all, /other content.*VERIFY=off.*meta/);
  });

  test('Flask by opentelemetry-instrument: stages by its spans', { skip: noPython }, async (t) => {
    const SPANS = `127.0.0.1:${await freePort()}`;
    const instrument = [join(PYTHON, 'bin/opentelemetry-instrument'), 'python3'];
    const of = async (protocol: Protocol) => {
      const settings = await startFlask(t, instrument, instrumented(SPANS, protocol));
      return { ...settings, SPANS, ID_FROM: 'json:$.meta.id' };
    };
    const proposed = await marksBySpans(t, 'own.js', await of('http/protobuf'), ['received']);
    const SPANS_MARKS = await directory(t);
    await writeFile(SPANS_MARKS, proposed);
    await marksBySpans(t, 'own.js', { ...(await of('grpc')), SPANS_MARKS }, ['received', 'lpush']);
  });

  test('net/http and a Redis stream, whose consumer is the script', async (t) => {
    const REDIS_URL = await startRedis(t);
    const INGEST_URL = await startGo(t, 'go', { REDIS_URL });
    await passes(t, 'pipelines/go/stream.js', { INGEST_URL, REDIS_URL });
  });

  test('net/http and NATS, whose subscriber is the script', { skip: noNats }, async (t) => {
    const [dir, port, web] = [await temporaryDirectory(), await freePort(), await freePort()];
    const conf = await readFile(join(HERE, 'nats/nats.conf'), 'utf8');
    await writeFile(join(dir, 'conf'), conf.replace(':4222', `:${port}`).replace(':4280', `:${web}`));
    await serve(t, dir, { name: 'nats', command: NATS, args: ['-c', join(dir, 'conf')] }, /Server is ready/);
    const INGEST_URL = await startGo(t, 'nats', { NATS_URL: `nats://127.0.0.1:${port}` });
    await passes(t, 'pipelines/nats/orders.js', { INGEST_URL, NATS_URL: `ws://127.0.0.1:${web}` });
  });

  test('Fastify and BullMQ by auto-instrumentations-node: stages by their spans', {
    skip: noBullmq,
  }, async (t) => {
    const SPANS = `127.0.0.1:${await freePort()}`;
    const from = join(HERE, 'bullmq/node_modules/@opentelemetry');
    const hook = ['--experimental-loader', join(from, 'instrumentation/hook.mjs')];
    const register = ['--import', join(from, 'auto-instrumentations-node/dist/register.mjs')];
    const settings = await startBullmq(t, [...hook, ...register], instrumented(SPANS, 'grpc'));
    const proposed = await marksBySpans(t, 'webhook.js', { ...settings, SPANS, VERIFY: 'off' }, ['received']);
    assert.match(proposed, /"evalsha"/);
  });

  test('Fastify, BullMQ and a webhook that the message names', { skip: noBullmq }, async (t) => {
    const settings = await startBullmq(t, [], {});
    // BullMQ tries a refused call again.
    const { run } = await passes(t, 'webhook.js', { ...settings, VERIFY: 'off', REFUSE: '0.1' });
    assert.ok(run.errors.some((error) => error.class === 'refused on purpose' && error.count >= 6));
    await answers(t, { ...settings, ARRIVE: 'webhook', VERIFY: 'off' });
    const file = `
ingest: { url: '${settings.INGEST_URL}', path: /orders }
body: '${settings.BODY}'
arrive: { webhook: { address: '${settings.WEBHOOK_ADDRESS}' } }
`;
    assert.match(await tries(t, `${file}verify: off`), /^0 (?=.*\barrived\b).*\$\.order/s);
    assert.match(await tries(t, file), /^99 .*other content.*VERIFY=off/s);
    assert.match(
      (await scenario(t, 'webhook.js', settings)).all,
      /other content.*VERIFY=off.*"state":"done"/,
    );
  });

  test('nginx with nchan, to WebSocket and to server-sent events', { skip: noNchan }, async (t) => {
    const [dir, port] = [await temporaryDirectory(), await freePort()];
    const conf = await readFile(join(HERE, 'nchan/nginx.conf'), 'utf8');
    await writeFile(join(dir, 'conf'), conf.replace('127.0.0.1:8000;', `127.0.0.1:${port};`));
    // Started by root, nginx would write as a user that cannot enter this directory.
    const user = process.getuid?.() === 0 ? `user ${userInfo().username};` : '';
    const args = [
      '-p',
      dir,
      '-c',
      'conf',
      '-e',
      'stderr',
      '-g',
      `daemon off; error_log stderr notice; ${user}`,
    ];
    await serve(t, dir, { name: 'nginx', command: 'nginx', args }, /start worker processes/);
    const url = `127.0.0.1:${port}`;
    const posts = { INGEST_URL: `http://${url}`, INGEST_PATH: '/post/{{target}}' };
    for (const where of [
      { WEBSOCKET_URL: `ws://${url}/ws/{{target}}` },
      { ARRIVE: 'sse', SSE_URL: `http://${url}/events/{{target}}` },
    ]) {
      const {
        run: { account },
      } = await passes(t, 'push.js', { ...posts, CLIENTS: '100', ...where });
      assert.equal(account.deliveries.arrived, 5 * account.scheduled);
      await answers(t, { ...posts, ARRIVE: 'websocket', TARGETS: '5', ...where });
    }
    for (const arrive of [
      `websocket: { url: 'ws://${url}/ws/{{target}}' }`,
      `sse: { url: 'http://${url}/events/{{target}}' }`,
    ])
      assert.match(
        await tries(
          t,
          `{ ingest: { url: 'http://${url}', path: '/post/{{target}}' }, arrive: { ${arrive} } }`,
        ),
        /^0 (?=.*\barrived\b).*\$\.id/s,
      );
    // All clients are cut off under load. nchan sends them what is behind their Last-Event-ID.
    const link = await openLink(t, `http://${url}/events/`);
    let events = 0;
    link.rewrite = (bytes) => {
      const before = events;
      events += String(bytes).split('data:').length - 1;
      if (before < 150 && events >= 150) link.cut();
      return bytes;
    };
    const settings = { ...posts, CLIENTS: '5', ARRIVE: 'sse', SSE_URL: `${link.url}{{target}}` };
    const { RUN_DIR, all } = await scenario(t, 'push.js', settings);
    const run = await readRun(RUN_DIR, all);
    assertAllArrived(run);
    assert.equal(run.health.gaps.length, 5);
    assert.deepEqual(brokenOf(run), ['gaps']);
  });
});
