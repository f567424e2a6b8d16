/** What the tests of pipelines that are not ours share: how each is started, and measured. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { execa } from 'execa';
import type { Launch } from '../../pipeline/stack/launch.ts';
import { freePort } from '../../pipeline/stack/ports.ts';
import { eventually, remove, Service, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, node, ROOT, readRun } from '../test/harness.ts';

export const HERE = import.meta.dirname;
export const PYTHON = join(ROOT, '.stack/python');
export const NATS = join(ROOT, '.stack/nats-server');
/** 60 messages, with a latency limit that holds on any machine. */
const LOAD = { RATE: '60', DURATION: '1', P99: '60000' };

/** A server without users. */
export async function start(
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

export async function serve(t: TestContext, dir: string, launch: Launch, ready: RegExp) {
  const service = new Service(dir, async () => launch, ready);
  t.after(() => service.remove());
  await service.start();
}

export async function startRedis(t: TestContext) {
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
export async function startGo(t: TestContext, folder: string, env: NodeJS.ProcessEnv) {
  const program = join(await directory(t), 'program');
  await execa('go', ['build', '-buildvcs=false', '-o', program, '.'], { cwd: join(HERE, folder) });
  const port = await freePort();
  return startTheirs(t, program, [`127.0.0.1:${port}`], port, env);
}

/** Measures with a script as `npm run scenario` does. */
export async function scenario(t: TestContext, script: string, settings: NodeJS.ProcessEnv) {
  const RUN_DIR = await directory(t);
  const env = { ...LOAD, WARMUP: '0.5', NO_COLOR: '1', RUN_DIR, ...settings };
  const { exitCode, all = '' } = await node(['scenarios/run/run.ts', `scenarios/${script}`], env);
  return { RUN_DIR, exitCode, all };
}

/** Measures, and every message arrives. */
export async function passes(t: TestContext, script: string, settings: NodeJS.ProcessEnv) {
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
export async function answers(t: TestContext, settings: NodeJS.ProcessEnv) {
  for (const [script, short] of Object.entries(QUESTIONS)) {
    const { RUN_DIR, all } = await scenario(t, script, { ...settings, ...short });
    assertAllArrived(await readRun(RUN_DIR, all));
  }
}

/** Lets one message go round by a pipeline file, and returns what is printed. */
export async function tries(t: TestContext, text: string, env: NodeJS.ProcessEnv = {}) {
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
export async function startFlask(t: TestContext, instrument: string[], more: NodeJS.ProcessEnv) {
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
export async function startBullmq(t: TestContext, flags: string[], more: NodeJS.ProcessEnv) {
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

export type Protocol = 'grpc' | 'http/protobuf';

/** OpenTelemetry's variables of a pipeline that sends its spans to a run. */
export function instrumented(spansAt: string, protocol: Protocol): NodeJS.ProcessEnv {
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
export async function marksBySpans(
  t: TestContext,
  script: string,
  settings: NodeJS.ProcessEnv,
  marks: string[],
) {
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

export async function directory(t: TestContext) {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  return join(dir, 'run');
}
