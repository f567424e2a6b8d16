import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync, type MqttClient } from 'mqtt';
import { openLog } from '../common/log.ts';
import type { Problem } from '../common/readiness.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue, QueueKind } from '../queue/queue.ts';
import { freePort } from '../stack/ports.ts';
import { hopsOf } from '../test/hops.ts';
import { openLink } from '../test/link.ts';
import {
  type Env,
  healthOf,
  type InProcess,
  inItsProcess,
  type Running,
  relayHere,
} from '../test/running.ts';
import { eventually, startBroker, startRedis } from '../test/services.ts';
import type { Broker } from './broker.ts';
import type { Publication } from './publication.ts';
import { Relay } from './relay.ts';

const WITHIN_MS = 30_000;

let redisServer: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
let redis: Redis;
let subscriber: MqttClient;
let arrivals: { id: string; dup: boolean; hops: string | undefined }[] = [];
let queue: MessageQueue;

before(async () => {
  [redisServer, broker] = await Promise.all([startRedis(), startBroker()]);
  redis = new Redis(redisServer.url);
  subscriber = await connectAsync(broker.url('subscriber'), { protocolVersion: 5 });
  await subscriber.subscribeAsync('messages/#', { qos: 1 });
  subscriber.on('message', (_topic, payload, { dup, properties }) => {
    const { id } = JSON.parse(payload.toString());
    arrivals.push({ id, dup, hops: properties?.userProperties?.hops as string | undefined });
  });
});

after(async () => {
  await subscriber.endAsync(true);
  redis.disconnect();
  await redisServer.service.remove();
  await broker.service.remove();
});

beforeEach(async () => {
  arrivals = [];
  await redis.flushall();
});

async function open(t: TestContext, kind: QueueKind = 'stream'): Promise<void> {
  queue = openQueue(kind, { url: redisServer.url, timeoutMs: WITHIN_MS });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  await queue.join();
}

async function startRelay(t: TestContext, env: Env = {}): Promise<InProcess> {
  const relay = launch(t, env);
  await relay.says(/relaying as/, WITHIN_MS);
  return relay;
}

const settings = (env: Env): Env => ({
  REDIS_URL: redisServer.as('relay'),
  MQTT_URL: broker.url('relay'),
  PROCESS_NAME: 'relay-x',
  // Some reach it through a proxy.
  BROKER_NAME: 'one',
  RELAY_DELIVERIES: '3',
  ...env,
});

function launch(t: TestContext, env: Env): InProcess {
  const relay = relayHere(settings(env));
  t.after(() => relay.stop());
  return relay;
}

/** A relay's answer at a path of its health port. */
async function health(
  relay: Running,
  path: string,
): Promise<{ status: number; error?: string; problems?: Problem[] }> {
  const url = await healthOf(relay);
  const answer = await fetch(`${url}${path}`);
  const { error, problems } = (await answer.json()) as { error?: string; problems?: Problem[] };
  return { status: answer.status, ...(error !== undefined && { error }), ...(problems && { problems }) };
}

async function append(count: number, from = 0): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `r.1.${from + i}`);
  await queue.append(
    ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a', stamps: '1763700000123456,35' })),
  );
  return ids;
}

const arrived = () => arrivals.map(({ id }) => id);
const settled = () => eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
const held = async () => ((await redis.xpending('arrival:messages', 'relays')) as [number])[0];

const proxy = (t: TestContext, at?: number) => openLink(t, broker.url('relay'), at);

const variants: [queue: QueueKind, mode: string, qos: string][] = [
  ['stream', 'pipelined', '0'],
  ['stream', 'serial', '1'],
  ['list', 'pipelined', '1'],
  ['list', 'serial', '0'],
];
for (const [kind, mode, qos] of variants) {
  test(`${kind}, ${mode}, QoS ${qos}: messages arrive once, in order and with their hops`, async (t) => {
    await open(t, kind);
    const relay = await startRelay(t, {
      QUEUE: kind,
      RELAY_MODE: mode,
      MQTT_QOS: qos,
      TRACE_LOG_EVERY: '50',
    });
    const ids = await append(200);
    await eventually(() => arrivals.length >= 200, 'all arrivals', WITHIN_MS);
    assert.deepEqual(arrived(), ids);
    for (const { hops } of arrivals) assert.equal(hopsOf(hops as string).queued, 1763700000123491);
    await settled();
    await relay.stop();
    assert.equal(await relay.ended, 'exited with code 0');
    const traced = (await redis.lrange('arrival:trace:relay', 0, -1)).map((entry) => JSON.parse(entry).id);
    assert.deepEqual(traced, ['r.1.150', 'r.1.100', 'r.1.50', 'r.1.0']);
  });
}

test('only the message that breaks the connection becomes a dead letter', async (t) => {
  const link = await proxy(t);
  link.breaksAt = (bytes) => bytes.includes('r.1.40"');
  await open(t);
  const relay = await startRelay(t, { MQTT_URL: link.url });
  const ids = await append(100);
  await settled();
  await eventually(() => new Set(arrived()).size === 99, 'the other messages', WITHIN_MS);
  assert.deepEqual([...new Set(arrived())].sort(), ids.filter((id) => id !== 'r.1.40').sort());
  const letters = [];
  for await (const letter of queue.deadLetters.list()) letters.push(letter);
  assert.deepEqual(
    letters.map(({ id, deliveries }) => [id, deliveries]),
    [['r.1.40', 3]],
  );
  assert.match(letters[0]?.reason ?? '', /^each attempt ended with a broken connection or a dead relay: /);
  assert.ok(relay.alive);
});

for (const mode of ['pipelined', 'serial']) {
  // Regression: the message was acknowledged in Redis although its socket was destroyed.
  test(`${mode}, QoS 0: a message is sent again if the connection breaks while it is written`, async (t) => {
    const link = await proxy(t);
    let broken = 0;
    link.breaksAt = (bytes) => broken === 0 && bytes.includes('"r.1.0"') && ++broken > 0;
    await open(t);
    await startRelay(t, { MQTT_URL: link.url, MQTT_QOS: '0', RELAY_MODE: mode });
    // The payload exceeds what the kernel buffers for two sockets.
    const body = JSON.stringify({ id: 'r.1.0', payload: 'x'.repeat(32 * 1024 * 1024) });
    await queue.append([{ body, target: 'a', stamps: '' }]);
    const ids = ['r.1.0', ...(await append(3, 1))];
    await settled();
    await eventually(() => arrivals.length >= ids.length, 'the messages', WITHIN_MS);
    assert.deepEqual(arrived(), ids);
    assert.equal(broken, 1);
    assert.equal(await queue.deadLetters.count(), 0);
  });
}

// Regression: health and SIGTERM were handled only after the broker had answered. For the first process of a
// container the kernel ignores a SIGTERM without a handler.
test('the broker is away at startup: the relay is alive, not ready, and waits for the broker', async (t) => {
  await open(t);
  const port = await freePort();
  const { username, password } = new URL(broker.url('relay'));
  const relay = launch(t, { MQTT_URL: `mqtt://${username}:${password}@127.0.0.1:${port}` });
  assert.deepEqual(await health(relay, '/livez'), { status: 200 });
  const { status, error } = await health(relay, '/readyz');
  assert.equal(status, 503);
  assert.match(error ?? '', /the broker is away/);
  const ids = await append(10);
  await proxy(t, port);
  await eventually(() => arrivals.length >= 10, 'the messages', WITHIN_MS);
  assert.deepEqual(arrived(), ids);
  await eventually(async () => (await health(relay, '/readyz')).status === 200, 'readiness', WITHIN_MS);
});

test('the broker goes away later: the relay stays ready, and names it', async (t) => {
  await open(t);
  const link = await proxy(t);
  const relay = await startRelay(t, { MQTT_URL: link.url, RELAY_GRACE_MS: '300' });
  await eventually(async () => (await health(relay, '/readyz')).status === 200, 'readiness', WITHIN_MS);
  link.breaksAt = () => true;
  await append(1);
  await eventually(
    async () => {
      const { status, problems = [] } = await health(relay, '/readyz');
      assert.equal(status, 200);
      return problems.some(({ kind, problem }) => kind === 'shared' && /the broker is away/.test(problem));
    },
    'the problem',
    WITHIN_MS,
  );
});

test('the broker is away at startup: SIGTERM ends the relay with code 0', async (t) => {
  const env = settings({ MQTT_URL: `mqtt://user:secret@127.0.0.1:${await freePort()}` });
  const relay = await inItsProcess(t, 'relay', env);
  await relay.says(/health at/, WITHIN_MS);
  await relay.stop(WITHIN_MS);
  assert.equal(await relay.ended, 'exited with code 0');
});

test('Redis starts after the relay, with another number of shards: one line, exit code 1', async (t) => {
  await redis.set('arrival:shards', '8');
  redisServer.service.signal('SIGSTOP');
  t.after(() => redisServer.service.signal('SIGCONT'));
  const relay = await inItsProcess(t, 'relay', settings({ REDIS_TIMEOUT_MS: '100' }));
  await relay.says(/relaying as/, WITHIN_MS);
  redisServer.service.signal('SIGCONT');
  assert.equal(await relay.ended, 'exited with code 1');
  assert.match(
    relay.lastLines.at(-1) ?? '',
    /^REDIS_URL: its queue has 8 shards; allowed is STREAM_SHARDS=8/,
  );
});

for (const shards of ['1', '2']) {
  // Regression: a relay that was there before Redis said that Redis had lost its data.
  test(`Redis starts after the relay, ${shards} shards: only a Redis that had data has lost it`, async (t) => {
    redisServer.service.signal('SIGSTOP');
    t.after(() => redisServer.service.signal('SIGCONT'));
    const env = { REDIS_TIMEOUT_MS: '500', STREAM_SHARDS: shards };
    const relay = launch(t, env);
    await relay.says(/Redis is away/, WITHIN_MS);
    redisServer.service.signal('SIGCONT');
    queue = openQueue('stream', { url: redisServer.url, timeoutMs: WITHIN_MS, shards: Number(shards) });
    t.after(() => queue.close());
    await queue.whenReady(WITHIN_MS);
    await append(1);
    await eventually(() => arrivals.length === 1, 'the message', WITHIN_MS);
    assert.doesNotMatch(relay.lastLines.join('\n'), /lost its data/);
    await redis.flushall();
    await relay.says(/lost its data/, WITHIN_MS);
  });
}

test('without a PUBACK the relay reconnects at its deadline and publishes the messages again', async (t) => {
  const link = await proxy(t);
  await open(t);
  await startRelay(t, { MQTT_URL: link.url, MQTT_TIMEOUT_MS: '2000', RELAY_DELIVERIES: '100' });
  link.mute = true;
  const ids = await append(50);
  await eventually(() => arrivals.length >= 50, 'the messages, without their PUBACKs', WITHIN_MS);
  assert.equal(await queue.depth(), 50);
  link.mute = false;
  await settled();
  assert.deepEqual([...new Set(arrived())].sort(), ids.sort());
  assert.equal(await queue.deadLetters.count(), 0);
});

test('a relay is stopped beyond its lease: another one takes over, and nothing is lost', async (t) => {
  await open(t);
  const link = await proxy(t);
  const lease = { RELAY_LEASE_MS: '400' };
  const stopped = await inItsProcess(t, 'relay', settings({ ...lease, MQTT_URL: link.url }));
  await stopped.says(/relaying as/, WITHIN_MS);
  link.mute = true;
  const ids = await append(50);
  await eventually(
    async () => (await held()) === (await redis.xlen('arrival:messages')),
    'the claim',
    WITHIN_MS,
  );
  stopped.signal('SIGSTOP');
  await startRelay(t, { ...lease, PROCESS_NAME: 'relay-y' });
  await settled();
  stopped.signal('SIGCONT');
  await eventually(() => new Set(arrived()).size === 50, 'every message', WITHIN_MS);
  assert.deepEqual([...new Set(arrived())].sort(), ids.sort());
});

test('Redis refuses writes for a while: the relay logs it once, and recovers', async (t) => {
  await open(t);
  const relay = await startRelay(t);
  const logged = (pattern: RegExp) => relay.lastLines.filter((line) => pattern.test(line)).length;
  await redis.replicaof('127.0.0.1', 1);
  await redis.config('SET', 'replica-serve-stale-data', 'yes');
  await eventually(() => logged(/read-only replica/) > 0, 'the log line', WITHIN_MS);
  await redis.replicaof('NO', 'ONE');
  // Redis loses its data and the consumer group.
  await redis.flushall();
  const ids = await append(10);
  await eventually(() => arrivals.length >= 10, 'the messages', WITHIN_MS);
  assert.deepEqual(arrived(), ids);
  assert.equal(logged(/read-only replica/), 1);
});

for (const [kind, shards] of [
  ['stream', '1'],
  ['stream', '2'],
  ['list', '1'],
] as const) {
  // Regression: a window of large messages exceeded the memory of a relay's container.
  test(`${kind}, ${shards} shard(s): a relay claims no more while it holds RELAY_MEMORY bytes`, async (t) => {
    const large = 500_000;
    queue = openQueue(kind, { url: redisServer.url, timeoutMs: WITHIN_MS, shards: Number(shards) });
    t.after(() => queue.close());
    await queue.whenReady(WITHIN_MS);
    await queue.join();
    for (let i = 0; i < 40; i++) {
      const id = `r.1.${i}`;
      const body = JSON.stringify({ id, payload: 'x'.repeat(large) });
      await queue.append([{ body, target: id, stamps: '' }]);
    }
    const link = await proxy(t);
    link.breaksAt = (bytes) => {
      if (bytes.includes('messages/')) link.mute = true;
      return false;
    };
    const relay = await startRelay(t, {
      QUEUE: kind,
      STREAM_SHARDS: shards,
      MQTT_URL: link.url,
      MQTT_TIMEOUT_MS: '1000',
      RELAY_DELIVERIES: '100', // a busy machine may need some
      RELAY_MEMORY: String(2 * large),
    });
    const url = await healthOf(relay);
    // By then it has claimed all that it may.
    await relay.says(/the broker is away: no PUBACK/, WITHIN_MS);
    const text = await (await fetch(`${url}/metrics`)).text();
    const holds = Number(/^arrival_relay_messages_held (\d+)$/m.exec(text)?.[1]);
    assert.ok(holds > 1 && holds <= 16, `${holds} of 40`);
    link.breaksAt = () => false;
    link.mute = false;
    await eventually(() => new Set(arrived()).size === 40, 'the others', WITHIN_MS);
    await settled();
  });
}

test('list: a relay that stops returns undelivered messages', async (t) => {
  await open(t, 'list');
  const link = await proxy(t);
  const relay = await startRelay(t, { QUEUE: 'list', MQTT_URL: link.url, RELAY_GRACE_MS: '300' });
  link.mute = true;
  await append(20);
  await eventually(async () => (await queue.depth()) === 0, 'the claim', WITHIN_MS);
  await relay.stop();
  assert.equal(await queue.depth(), 20);
});

/** Rewrites each PUBACK without a reason code, which means success, into one with this code. */
const pubackWith = (reasonCode: number) => (bytes: Buffer) =>
  bytes.length === 4 && bytes[0] === 0x40 ? Buffer.from([0x40, 3, ...bytes.subarray(2), reasonCode]) : bytes;

for (const mode of ['pipelined', 'serial']) {
  // Regression: mqtt-packet refused these codes, which broke the connection each time.
  test(`${mode}: a PUBACK with a reason code that MQTT does not know is an answer`, async (t) => {
    await open(t);
    const link = await proxy(t);
    link.rewrite = pubackWith(0x01);
    const relay = await startRelay(t, { RELAY_MODE: mode, MQTT_URL: link.url });
    const [first] = await append(1);
    await settled();
    link.rewrite = pubackWith(0xc1);
    const [second] = await append(1, 1);
    await eventually(async () => (await queue.deadLetters.count()) === 1, 'a dead letter', WITHIN_MS);
    assert.deepEqual(arrived(), [first, second, second, second]);
    for await (const { reason } of queue.deadLetters.list()) assert.match(reason, /0xc1/);
    assert.ok(!relay.lastLines.some((line) => /the broker is away/.test(line)));
  });
}

// Regression: they waited for memory.
test('list, serial: messages that the broker refuses become dead letters of a full Redis', async (t) => {
  await open(t, 'list');
  const ids = await append(5);
  await redis.config('SET', 'maxmemory', '1');
  t.after(() => redis.config('SET', 'maxmemory', '0'));
  const mayNotPublish = broker.url('subscriber');
  await startRelay(t, { QUEUE: 'list', RELAY_MODE: 'serial', MQTT_URL: mayNotPublish });
  await eventually(async () => (await queue.deadLetters.count()) >= 5, 'dead letters', WITHIN_MS);
  const letters = [];
  for await (const { id } of queue.deadLetters.list()) letters.push(id);
  assert.deepEqual(letters, ids);
});

// Regression: Redis refused the message's own entry, but the relay deleted the entry that held the message.
test('serial: a message that the broker and Redis refuse stays in the queue when the relay stops', async (t) => {
  await open(t);
  const link = await proxy(t);
  link.breaksAt = (bytes) => {
    if (bytes.includes('r.1.1"')) link.rewrite = pubackWith(0x87);
    return false;
  };
  await append(2);
  await redis.acl('SETUSER', 'relay', '-xadd');
  t.after(() => redis.acl('SETUSER', 'relay', '+xadd'));
  const relay = await startRelay(t, { RELAY_MODE: 'serial', MQTT_URL: link.url, RELAY_GRACE_MS: '300' });
  await relay.says(/Redis does not allow it/, WITHIN_MS);
  await relay.stop();
  assert.equal(await relay.ended, 'exited with code 0');
  assert.equal(await queue.depth(), 2);
  await redis.acl('SETUSER', 'relay', '+xadd');
  arrivals = [];
  await startRelay(t, { PROCESS_NAME: 'relay-y', RELAY_LEASE_MS: '400' });
  await eventually(() => arrived().includes('r.1.1'), 'the message that was refused', WITHIN_MS);
  await settled();
});

test('serial: temporary refusals by the broker make no dead letters', async (t) => {
  await open(t);
  const link = await proxy(t);
  let refused = 0;
  link.rewrite = (bytes) => {
    const answer = pubackWith(0x97)(bytes);
    if (answer !== bytes) refused++;
    return answer;
  };
  // A short lease, so that the relay does not wait for a second.
  const relay = await startRelay(t, { RELAY_MODE: 'serial', MQTT_URL: link.url, RELAY_LEASE_MS: '300' });
  const ids = await append(2);
  // There are more refusals than RELAY_DELIVERIES.
  await eventually(() => refused >= 5, 'refusals', WITHIN_MS);
  link.rewrite = (bytes) => bytes;
  await settled();
  assert.deepEqual([...new Set(arrived())], ids);
  assert.equal(await queue.deadLetters.count(), 0);
  await relay.says(/the broker refuses messages for now: Quota exceeded \(0x97\)/, WITHIN_MS);
});

test('nothing is claimed before the clock is probed', async (t) => {
  await open(t);
  await redis.call('ACL', 'SETUSER', 'relay', '-time');
  t.after(() => redis.call('ACL', 'SETUSER', 'relay', '+time'));
  await redis.config('RESETSTAT');
  const relay = await startRelay(t);
  const ids = await append(10);
  const refused = async () =>
    Number(/cmdstat_time:.*rejected_calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  await eventually(async () => (await refused()) >= 8, 'failed probes', WITHIN_MS);
  assert.deepEqual([await held(), await queue.depth()], [0, 10]);
  assert.match(relay.lastLines.join('\n'), /its clock is not known yet: Redis does not allow it/);
  const { status, problems } = await health(relay, '/readyz');
  const clock = { problem: 'Redis: its clock is not known yet', kind: 'starting' };
  assert.deepEqual([status, problems], [503, [clock]]);
  await redis.call('ACL', 'SETUSER', 'relay', '+time');
  await eventually(() => arrivals.length >= 10, 'the messages', WITHIN_MS);
  assert.deepEqual(arrived(), ids);
});

const modes: Record<string, string>[] = [
  { RELAY_MODE: 'pipelined' },
  { RELAY_MODE: 'serial' },
  { STREAM_SHARDS: '2' },
];
for (const mode of modes) {
  test(`${Object.entries(mode)}: a relay whose claims fail is not ready, and gives the reason`, async (t) => {
    const relay = await startRelay(t, mode);
    const answers = (status: number, error?: RegExp) =>
      eventually(
        async () => {
          const seen = await health(relay, '/readyz');
          return seen.status === status && (error === undefined || error.test(seen.error ?? ''));
        },
        `${status} of /readyz`,
        WITHIN_MS,
      );
    await answers(200);
    await redis.call('ACL', 'SETUSER', 'relay', '-xreadgroup');
    t.after(() => redis.call('ACL', 'SETUSER', 'relay', '+xreadgroup'));
    await answers(503, /^Redis does not allow it/);
    await redis.call('ACL', 'SETUSER', 'relay', '+xreadgroup');
    await answers(200);
  });
}

/** Options of a relay in this process. */
const relayOptions = () => ({
  queue,
  now: () => Date.now() * 1000,
  consumer: 'one',
  log: openLog('silent'),
  batch: 100,
  window: 100,
  memory: 1e9,
  timeoutMs: WITHIN_MS,
  leaseMs: 1_800_000,
  deliveries: 3,
});

test('serial, QoS 0: a failed write acknowledges nothing, and the message is sent again', async (t) => {
  await open(t);
  await append(1);
  const depths: number[] = [];
  const depth = async () => {
    // An acknowledgement would have gone before, on this connection: Redis answers in order.
    depths.push(await queue.depth());
  };
  let writes = 0;
  const dying = {
    up: true,
    reason: 'cut off',
    maximumPacketSize: Number.POSITIVE_INFINITY,
    publish: (_publication: Publication) => {},
    together: (publish: () => void, written: (failed: boolean) => void) => {
      publish();
      writes++;
      if (writes === 1) setImmediate(fail, written);
      else depth().then(() => written(false));
    },
  };
  const fail = (written: (failed: boolean) => void) => {
    dying.up = false;
    written(true);
    relay.suspend();
    dying.up = true;
    relay.resume();
  };
  const relay = new Relay({ ...relayOptions(), serial: true, qos: 0, broker: dying as unknown as Broker });
  relay.start();
  t.after(() => relay.stop(WITHIN_MS));
  await settled();
  assert.deepEqual([writes, depths, relay.counters.published], [2, [1], 1]);
});
