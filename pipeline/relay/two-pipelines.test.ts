/** Relays of one queue publish to one broker: those of another one would take half of its messages. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { openQueue } from '../queue/open.ts';
import { openLink } from '../test/link.ts';
import {
  type Env,
  type InProcess,
  ingestHere,
  inItsProcess,
  type Running,
  relayHere,
} from '../test/running.ts';
import { eventually, startBroker, startRedis } from '../test/services.ts';

const WITHIN_MS = 60_000;
const RECORD = 'arrival:broker';

let server: Awaited<ReturnType<typeof startRedis>>;
let brokers: Awaited<ReturnType<typeof startBroker>>[];
let redis: Redis;

before(async () => {
  server = await startRedis();
  brokers = await Promise.all([startBroker(), startBroker()]);
  redis = new Redis(server.url);
});
after(async () => {
  redis.disconnect();
  await server.service.remove();
  for (const { service } of brokers) await service.remove();
});
beforeEach(() => redis.flushall());

const urlOf = (broker: 0 | 1) => brokers[broker]?.url('relay') ?? '';

const HERE = { relay: relayHere, ingest: ingestHere };

const settings = (PROCESS_NAME: string, env: Env): Env => ({
  REDIS_URL: server.url,
  PROCESS_NAME,
  INGEST_PORT: '0',
  INGEST_TOKEN: 'of-the-test',
  ...env,
});

function launch(t: TestContext, name: string, role: keyof typeof HERE, env: Env): InProcess {
  const running = HERE[role](settings(name, env));
  t.after(() => running.stop());
  return running;
}

const relay = (t: TestContext, name: string, MQTT_URL: string, env: Env = {}) =>
  launch(t, name, 'relay', { MQTT_URL, ...env });
const recorded = () => eventually(async () => (await redis.get(RECORD)) !== null, 'the record', WITHIN_MS);

/** It ends with code 1 and one line. */
async function isRefused(process: Running): Promise<void> {
  assert.equal(await process.ended, 'exited with code 1');
  const plain = process.lastLines.filter((line) => !line.startsWith('{'));
  assert.equal(plain.length, 1, plain.join('\n'));
  assert.match(plain[0] ?? '', /^MQTT_URL is "mqtt:.*QUEUE_PREFIX/);
  assert.doesNotMatch(plain[0] ?? '', /secret/);
}

for (const env of [{ QUEUE: 'list' }, { STREAM_SHARDS: '2', QUEUE_PREFIX: 'shop' }]) {
  // Regression: half of the messages arrived at the other broker.
  test(`${JSON.stringify(env)}: a second pipeline with another broker is refused, with a prefix it is not`, async (t) => {
    const first = relay(t, 'relay-1', urlOf(0), env);
    await first.says(/relaying as/, WITHIN_MS);
    await eventually(async () => (await redis.keys('*:broker')).length === 1, 'the record', WITHIN_MS);
    await isRefused(relay(t, 'relay-2', urlOf(1), env));
    const other = relay(t, 'relay-3', urlOf(1), { ...env, QUEUE_PREFIX: 'another' });
    await other.says(/relaying as/, WITHIN_MS);
    assert.ok(first.alive);
  });
}

// Regression: they stayed there for ever, and every process was ready. A relay with shards also kept out those that read them.
test('messages of other settings are not left behind without a word', async (t) => {
  const queue = openQueue('stream', { url: server.url, timeoutMs: WITHIN_MS });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  await queue.join();
  await queue.append([{ body: '{}', target: 'a', stamps: '' }]);
  for (const env of [{ QUEUE: 'list' }, { STREAM_SHARDS: '2' }]) {
    const other = relay(t, 'relay-2', urlOf(0), env);
    assert.equal(await other.ended, 'exited with code 1');
    assert.match(
      other.lastLines.at(-1) ?? '',
      /^QUEUE is .* 1 entries wait .* QUEUE=stream STREAM_SHARDS=1;/,
    );
  }
  await relay(t, 'relay-1', urlOf(0)).says(/relaying as/, WITHIN_MS);
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
  await relay(t, 'relay-3', urlOf(0), { QUEUE: 'list' }).says(/relaying as/, WITHIN_MS);
});

// Regression: a full Redis did not take the record, so relays of another broker took half of what they should have drained.
test('relays keep their record in a full Redis', async (t) => {
  const first = relay(t, 'relay-1', urlOf(0), { REDIS_URL: server.as('relay') });
  await first.says(/relaying as/, WITHIN_MS);
  await recorded();
  t.after(() => redis.config('SET', 'maxmemory', '0'));
  await redis.config('SET', 'maxmemory', '1');
  await redis.del(RECORD);
  await recorded();
  await isRefused(relay(t, 'relay-2', urlOf(1), { REDIS_URL: server.as('relay') }));
  assert.ok(first.alive);
});

test('an ingest that names another broker than that of living relays is refused', async (t) => {
  const first = relay(t, 'relay-1', urlOf(0));
  await first.says(/relaying as/, WITHIN_MS);
  await recorded();
  await isRefused(launch(t, 'ingest-1', 'ingest', { MQTT_URL: urlOf(1) }));
  const same = launch(t, 'ingest-2', 'ingest', { MQTT_URL: urlOf(0) });
  const unnamed = launch(t, 'ingest-3', 'ingest', {});
  for (const each of [same, unnamed]) await each.says(/listening at/, WITHIN_MS);
});

test('the same broker by another spelling is the same broker', async (t) => {
  const first = relay(t, 'relay-1', urlOf(0));
  await first.says(/relaying as/, WITHIN_MS);
  await recorded();
  const second = relay(t, 'relay-2', urlOf(0).replace('127.0.0.1', 'localhost'));
  await second.says(/relaying as/, WITHIN_MS);
});

// Regression: relays that reach a broker through proxies, or with and without TLS, were refused.
test('other addresses of one broker, with one BROKER_NAME', async (t) => {
  const link = await openLink(t, urlOf(0));
  const named = { BROKER_NAME: 'one' };
  await relay(t, 'relay-1', urlOf(0), named).says(/relaying as/, WITHIN_MS);
  await recorded();
  await relay(t, 'relay-2', link.url, named).says(/relaying as/, WITHIN_MS);
});

test('the record of a pipeline that was killed does not block another', async (t) => {
  const first = await inItsProcess(t, 'relay', settings('relay-1', { MQTT_URL: urlOf(0) }));
  await first.says(/relaying as/, WITHIN_MS);
  await recorded();
  first.signal('SIGKILL');
  await first.ended;
  await redis.persist(RECORD);
  const second = relay(t, 'relay-2', urlOf(1));
  await second.says(/relaying as/, WITHIN_MS);
  const port = new URL(urlOf(1)).port;
  await eventually(async () => (await redis.get(RECORD))?.includes(port), 'its own record', WITHIN_MS);
});

test('a broker moves: relays restart one by one with its new address', async (t) => {
  const link = await openLink(t, urlOf(0));
  const [one, two] = [relay(t, 'relay-1', link.url), relay(t, 'relay-2', link.url)];
  for (const each of [one, two]) await each.says(/relaying as/, WITHIN_MS);
  await recorded();
  // Nobody answers at the old address any more.
  link.end();
  for (const each of [one, two]) await each.says(/the broker is away/, WITHIN_MS);
  await one.stop();
  const moved = relay(t, 'relay-1', urlOf(0));
  await moved.says(/relaying as/, WITHIN_MS);
  assert.ok(two.alive);
});

test('a relay says when a living pipeline with another broker turns up', async (t) => {
  const first = relay(t, 'relay-1', urlOf(0));
  await first.says(/relaying as/, WITHIN_MS);
  await recorded();
  const foreign = {
    relay: 'relay-9',
    broker: { name: 'mqtt://elsewhere', host: 'elsewhere', port: '1', addresses: [] },
  };
  let sign = 0;
  const alive = setInterval(() => redis.set(RECORD, JSON.stringify({ ...foreign, sign: ++sign })), 50);
  t.after(() => clearInterval(alive));
  await first.says(/relays of the same queue .*elsewhere/, WITHIN_MS);
  clearInterval(alive);
  await first.says(/no relays of another broker any more/, WITHIN_MS);
});

test('a record that nobody understands blocks nothing', async (t) => {
  await redis.set(RECORD, 'not JSON');
  const first = relay(t, 'relay-1', urlOf(0));
  await first.says(/relaying as/, WITHIN_MS);
});

// Regression: only /readyz named it, and the log had nothing.
for (const shards of ['1', '2'])
  for (const role of ['relay', 'ingest'] as const)
    test(`${role}, ${shards} shards: a key of another type in the place of their number is named once`, async (t) => {
      await redis.lpush('arrival:shards', 'a list');
      const env = { STREAM_SHARDS: shards, MQTT_URL: urlOf(0) };
      const one = launch(t, role, role, env);
      const named = /arrival:shards.*holds something else/;
      await one.says(named, WITHIN_MS);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await one.says(/Redis answers/, WITHIN_MS);
      assert.equal(one.lastLines.filter((line) => named.test(line)).length, 1);
    });
