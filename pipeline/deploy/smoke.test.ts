/**
 * Builds the image of the pipeline. Runs prepare.ts, an ingest and a relay from it, with this host's Redis and Mosquitto.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Launch } from '../stack/launch.ts';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { Images, lastOf, withoutImages } from '../test/images.ts';
import { eventually, remove, startBroker, startRedis, temporaryDirectory } from '../test/services.ts';

const HOST = '127.0.0.1';
const IMAGE = 'localhost/arrival-pipeline';

const cleanups: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

test('the pipeline image prepares, starts, delivers a message and stops cleanly', {
  skip: withoutImages,
}, async () => {
  const dir = await temporaryDirectory();
  cleanups.push(() => remove(dir));
  const images = new Images(dir);
  const { store, env } = images;
  const buildah = (args: readonly string[]) => images.buildah(args);
  await images.makeNode();
  await images.build(IMAGE, 'pipeline/pipeline.Dockerfile');
  const { User, Entrypoint, Healthcheck } = await images.config(IMAGE);
  assert.equal(User, '65532:65532');

  /** buildah's arguments that run a command in a new container, without the command. */
  const container = async (variables: Record<string, string> = {}) => {
    const name = await images.container(IMAGE);
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
  assert.match(prepared, /is prepared for compose/);

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
