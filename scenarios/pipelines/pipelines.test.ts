/** Pipelines that are not ours, measured by the commands that their files have. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { freePort } from '../../pipeline/stack/ports.ts';
import { eventually, remove, Service, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, k6, node, ROOT, readRun } from '../test/harness.ts';

const HERE = import.meta.dirname;
const PYTHON = join(ROOT, '.stack/python');
/** 60 messages, with a latency limit that holds on any machine. */
const LOAD = { RATE: '30', DURATION: '2', P99: '60000' };

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
  const service = new Service(dir, async () => launch, ready);
  t.after(() => service.remove());
  await service.start();
  return port;
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

async function directory(t: TestContext) {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  return join(dir, 'run');
}

const noPython = existsSync(join(PYTHON, 'flask'))
  ? false
  : 'npm run setup -- --test installs its packages, if there is pip';

test('Flask, a Redis list and MQTT 3.1.1, with numeric ids in an envelope', { skip: noPython }, async (t) => {
  const REDIS_URL = await startRedis(t);
  const broker = await start(t, 'mosquitto', / running$/, (_, dir) => ['-c', join(dir, 'conf')]);
  const port = await freePort();
  const env = { REDIS_URL, MQTT_PORT: `${broker}`, PORT: `${port}`, PYTHONPATH: PYTHON };
  const INGEST_URL = await startTheirs(t, 'python3', [join(HERE, 'flask/app.py')], port, env);
  const theirs = {
    INGEST_URL,
    MQTT_URL: `mqtt://127.0.0.1:${broker}`,
    INGEST_PATH: '/events',
    BODY: '{"id":{{id}},"user":"{{target}}"}',
  };
  const settings = {
    ...theirs,
    ...LOAD,
    WARMUP: '0.5',
    ID_FORMAT: 'number',
    TOPIC_PREFIX: 'users/',
    MQTT_VERSION: '3.1.1',
  };
  const measure = async (more: NodeJS.ProcessEnv) => {
    const RUN_DIR = await directory(t);
    const script = ['scenarios/run/run.ts', 'scenarios/own.js'];
    const { exitCode, all = '' } = await node(script, { ...settings, RUN_DIR, NO_COLOR: '1', ...more });
    return { RUN_DIR, exitCode, all };
  };
  const { RUN_DIR, exitCode, all } = await measure({ ID_FROM: 'json:$.meta.id' });
  const run = await readRun(RUN_DIR).catch((error) => assert.fail(`${error}\n${all}`));
  assertPass(run, exitCode);
  assertAllArrived(run);
  // What is wrong is said before the load, with the end at which the first message stopped.
  assert.match((await measure({ ID_FROM: 'json:$.id' })).all, /first message.*ID_FROM.*meta/);
  assert.match((await measure({ INGEST_PATH: '/elsewhere' })).all, /elsewhere refuses messages: HTTP 404/);
  assert.match((await measure({})).all, /other content.*VERIFY=off.*meta/);
});

test('net/http and a Redis stream, whose consumer is the script', async (t) => {
  const REDIS_URL = await startRedis(t);
  const dir = await directory(t);
  await mkdir(dir, { recursive: true });
  await execa('go', ['build', '-buildvcs=false', '-o', join(dir, 'events'), '.'], { cwd: join(HERE, 'go') });
  const port = await freePort();
  const INGEST_URL = await startTheirs(t, join(dir, 'events'), [`127.0.0.1:${port}`], port, { REDIS_URL });
  const RUN_DIR = join(dir, 'run');
  const script = ['run', '--quiet', 'scenarios/pipelines/go/stream.js'];
  const { exitCode, all } = await k6(script, { INGEST_URL, REDIS_URL, RUN_DIR, ...LOAD });
  const run = await readRun(RUN_DIR).catch((error) => assert.fail(`${error}\n${all}`));
  assertPass(run, exitCode);
  assertAllArrived(run);
});
