/**
 * Builds the image of the pipeline with buildah. Runs prepare.ts, an ingest and a relay from it, with this
 * host's Redis and Mosquitto. The base image is a stand-in, made of this machine's Node, npm and shell, so no
 * image registry is needed.
 */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { execa } from 'execa';
import { connectAsync } from 'mqtt';
import { isInstalled } from '../setup/packages.mjs';
import type { Launch } from '../stack/launch.ts';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { eventually, remove, startBroker, startRedis, temporaryDirectory } from '../test/services.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOST = '127.0.0.1';
const NPM = 'npm@11.19.1';
const BASE = 'localhost/arrival-base-node';
const IMAGE = 'localhost/arrival-pipeline';
/** Programs that the Dockerfile's instructions and npm call. */
const PROGRAMS = ['/bin/sh', '/bin/chown', '/bin/mkdir', '/bin/rm', '/usr/bin/env'];
const AUTHORITIES = process.env.SSL_CERT_FILE ?? '/etc/ssl/certs/ca-certificates.crt';

const skip =
  process.platform !== 'linux'
    ? 'buildah runs on Linux'
    : !isInstalled('buildah')
      ? 'buildah is not installed: sudo apt-get install buildah'
      : process.getuid?.() !== 0 && 'buildah without a container runtime needs root';

const cleanups: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

test('the pipeline image prepares, starts, delivers a message and stops cleanly', { skip }, async () => {
  const dir = await temporaryDirectory();
  cleanups.push(() => remove(dir));
  // The test's own store and caches: this machine's images stay unchanged, and none is added.
  const env = { TMPDIR: dir, BUILDAH_ISOLATION: 'chroot', BUILDAH_FORMAT: 'docker' };
  const store = ['--root', join(dir, 'store'), '--runroot', join(dir, 'run')];
  const buildah = (args: readonly string[]) => execa('buildah', [...store, ...args], { env });

  await makeBase(join(dir, 'base'));
  const scratch = join(dir, 'scratch');
  await writeFile(scratch, 'FROM scratch\nCOPY . /\n');
  await buildah(['build', '--tag', BASE, '--file', scratch, join(dir, 'base')]);
  await buildah([
    ...['build', '--tag', IMAGE, '--pull=false', '--build-arg', `NODE=${BASE}`],
    ...['--file', join(ROOT, 'pipeline/pipeline.Dockerfile')],
    // buildah before 1.30 looks for .dockerignore only in the context.
    ...['--ignorefile', join(ROOT, 'pipeline/pipeline.Dockerfile.dockerignore')],
    ...['--secret', `id=npmrc,src=${await npmrc(dir)}`, '--secret', `id=authorities,src=${AUTHORITIES}`],
    ROOT,
  ]);
  const { stdout } = await buildah(['inspect', '--type', 'image', IMAGE]);
  const { User, Entrypoint, Healthcheck } = JSON.parse(stdout).Docker.config;
  assert.equal(User, '65532:65532');

  /** buildah's arguments that run a command in a new container, without the command. */
  const container = async (variables: Record<string, string> = {}) => {
    const name = (await buildah(['from', '--pull=false', IMAGE])).stdout;
    cleanups.push(() => buildah(['rm', name]));
    const set = Object.entries(variables).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    return ['run', ...set, name, '--'];
  };
  const prepare = await container();
  const prepared = await buildah([
    ...prepare,
    ...Entrypoint,
    'pipeline/deploy/prepare.ts',
    '/run/arrival',
    'compose',
  ]);
  assert.match(prepared.stdout, /is prepared for compose/);

  const redis = await startRedis();
  cleanups.push(() => redis.service.remove());
  const broker = await startBroker();
  cleanups.push(() => broker.service.remove());
  const port = await freePort();
  const token = 'a-token-of-the-test';
  const start = async (name: 'ingest' | 'relay', program: string, settings: Record<string, string>) => {
    const variables = {
      PROCESS_NAME: `${name}-1`,
      REDIS_URL: redis.as(name),
      HEALTH_HOST: HOST,
      ...settings,
    };
    const inside = await container({ ...variables, HEALTH_PORT: String(await freePort()) });
    const args = [...store, ...inside, ...Entrypoint, program];
    const launch: Launch = { name, command: 'buildah', args, env };
    const process = await Supervised.start(launch, { logs: dir });
    cleanups.push(() => process.stop());
    // CMD, then the command that an engine runs.
    const [, ...check] = Healthcheck.Test;
    await eventually(async () => {
      assert.ok(process.alive, process.lastLines.join('\n'));
      return buildah([...inside, ...check]).then(
        () => true,
        () => false,
      );
    }, `health of the ${name}`);
    return process;
  };
  const processes = [
    await start('ingest', 'pipeline/ingest/server.ts', {
      INGEST_HOST: HOST,
      INGEST_PORT: String(port),
      INGEST_TOKEN: token,
    }),
    await start('relay', 'pipeline/relay/main.ts', { MQTT_URL: broker.url('relay') }),
  ];

  const arrived: string[] = [];
  const subscriber = await connectAsync(broker.url('subscriber'), { protocolVersion: 5 });
  cleanups.push(() => subscriber.endAsync());
  subscriber.on('message', (_topic, payload) => arrived.push(JSON.parse(payload.toString()).id));
  await subscriber.subscribeAsync('messages/#', { qos: 1 });
  const { status } = await fetch(`http://${HOST}:${port}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ id: 'through-the-image', target: 'user/1' }),
  });
  assert.equal(status, 202);
  await eventually(() => arrived.length > 0, 'the message');
  assert.deepEqual(arrived, ['through-the-image']);

  for (const one of processes) {
    // The signal goes to Node itself: buildah would not forward it, but kill its child.
    process.kill(await lastOf(one.pid), 'SIGTERM');
    await eventually(() => !one.alive, `the end of the ${one.name}`);
    assert.equal(await one.ended, 'exited with code 0', one.name);
  }
});

/** Fills a folder with a stand-in for node:24-bookworm-slim: programs of this machine and their libraries. */
async function makeBase(base: string): Promise<void> {
  await execa('npm', ['install', '--global', '--ignore-scripts', '--prefix', join(base, 'usr/local'), NPM]);
  const node = join(ROOT, 'node_modules/node/bin/node');
  await execa('cp', [node, join(base, 'usr/local/bin')]);
  const { stdout } = await execa('ldd', [...PROGRAMS, node]);
  const libraries = new Set(stdout.match(/(?<=\s)\/\S+(?= \()/g));
  await execa('cp', ['--parents', '--dereference', ...PROGRAMS, ...libraries, base]);
  // npm looks for its settings in root's home, which /etc/passwd names.
  await mkdir(join(base, 'etc'));
  await writeFile(join(base, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
}

/** Writes the package registry of this machine, for the build only. */
async function npmrc(dir: string): Promise<string> {
  const file = join(dir, 'npmrc');
  const config = async (key: string) => (await execa('npm', ['config', 'get', key])).stdout;
  const own = await readFile(await config('userconfig'), 'utf8').catch(() => '');
  const lines = [own, `registry=${await config('registry')}`, 'cafile=/etc/ssl/certs/authorities.crt', ''];
  await writeFile(file, lines.join('\n'), { mode: 0o600 });
  return file;
}

/** The last process of a chain in which each parent has one child. */
async function lastOf(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8')),
  );
  const [child] = lists.join(' ').match(/\d+/g) ?? [];
  return child === undefined ? pid : lastOf(Number(child));
}
