import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StackFile, writeStackFile } from '../../../pipeline/stack/file.ts';
import { place } from '../../../scenarios/test/harness.ts';
import { findPipeline } from '../pipeline.ts';
import { readRide, recordRide } from '../ride/options.ts';

/** The part of stack.json that findPipeline reads. */
function stackAt(host: string, more: Partial<StackFile> = {}): StackFile {
  return {
    pid: process.pid,
    ingest: { url: `http://${host}:1`, token: 'its token' },
    mqtt: { url: `mqtt://${host}:2`, username: 'subscriber', password: 'secret' },
    redis: { url: `redis://reader:secret@${host}:3` },
    topology: 'single',
    facts: {},
    ...more,
  } as StackFile;
}

test("a running pipeline's addresses are found, and whether it is on the generator's host", async (t) => {
  const { dir, env } = await place(t);
  const found = async (stack: StackFile) => {
    await writeStackFile(dir, stack);
    return findPipeline(env);
  };
  const { ingest, mqtt, redis, oneHost } = await found(stackAt('192.0.2.1'));
  const { username, password } = mqtt;
  assert.deepEqual(ingest, { url: 'http://192.0.2.1:1', token: 'its token' });
  assert.deepEqual(
    [username, password, redis?.url],
    ['subscriber', 'secret', 'redis://reader:secret@192.0.2.1:3'],
  );
  assert.equal(oneHost, undefined, 'its addresses decide');
  assert.equal((await found(stackAt('192.0.2.1', { oneHost: true }))).oneHost, true, 'network namespaces');
});

// Regression: an absolute STACK_DIR was looked for below the repository.
test('a script that rides along finds it too, for its target and where its messages arrive', async (t) => {
  const { dir, env } = await place(t);
  await writeStackFile(dir, stackAt('192.0.2.1'));
  const script = {
    config: { target: 'http://arrival.invalid', plugins: { arrival: { messages: 'POST /', id: 'id' } } },
    scenarios: [{ flow: [{ post: { url: '/' } }] }],
  };
  const { ingest, mqtt } = (await recordRide(readRide(script), script, 'a.yml', '2', env)) as {
    ingest: object;
    mqtt: object;
  };
  assert.deepEqual(ingest, { url: 'http://192.0.2.1:1', token: 'its token' });
  assert.deepEqual(mqtt, {
    url: 'mqtt://192.0.2.1:2',
    username: 'subscriber',
    password: 'secret',
    filter: 'messages/#',
  });
});

test("the user's own pipeline needs ingest and broker, as with k6; its token is the environment's", async () => {
  const own = { INGEST_URL: 'http://there:1', MQTT_URL: 'mqtt://a:b@there:2', REDIS_URL: 'redis://there:3' };
  const found = await findPipeline({ ...own, INGEST_TOKEN: 'mine' });
  assert.deepEqual(found.ingest, { url: own.INGEST_URL, token: 'mine' });
  assert.deepEqual(found.mqtt, { url: own.MQTT_URL });
  assert.equal((await findPipeline({ ...own, REDIS_URL: '' })).redis, undefined);
  await assert.rejects(findPipeline({ ...own, MQTT_URL: '' }), {
    message: 'MQTT_URL is not set, and INGEST_URL is; allowed: both',
  });
});
