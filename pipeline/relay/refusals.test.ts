/** Refusals and takeovers by a real broker: they cost no other message anything. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync, type MqttClient } from 'mqtt';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { type Env, healthOf, type InProcess, relayHere } from '../test/running.ts';
import { eventually, HERE, startBroker, startRedis } from '../test/services.ts';
import { serve } from '../test/strangers.ts';

const WITHIN_MS = 60_000;
const LIMIT = 100_000;

let redisServer: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
let redis: Redis;
let queue: MessageQueue;
let subscriber: MqttClient;
let arrivals: string[] = [];

before(async () => {
  const limited = startBroker(undefined, HERE, [`message_size_limit ${LIMIT}`]);
  [redisServer, broker] = await Promise.all([startRedis(), limited]);
  redis = new Redis(redisServer.url);
  queue = openQueue('stream', { url: redisServer.url, timeoutMs: WITHIN_MS });
  await queue.whenReady(WITHIN_MS);
  subscriber = await connectAsync(broker.url('subscriber'), { protocolVersion: 5 });
  await subscriber.subscribeAsync('messages/#', { qos: 1 });
  subscriber.on('message', (_topic, payload) => arrivals.push(JSON.parse(payload.toString()).id));
});

after(async () => {
  await subscriber.endAsync(true);
  queue.close();
  redis.disconnect();
  await redisServer.service.remove();
  await broker.service.remove();
});

beforeEach(async () => {
  arrivals = [];
  await redis.flushall();
  await queue.join();
});

async function startRelay(t: TestContext, env: Env = {}): Promise<InProcess> {
  const relay = launch(t, env);
  await relay.says(/relaying as/, WITHIN_MS);
  return relay;
}

function launch(t: TestContext, env: Env): InProcess {
  const relay = relayHere({
    REDIS_URL: redisServer.as('relay'),
    MQTT_URL: broker.url('relay'),
    PROCESS_NAME: 'relay-x',
    ...env,
  });
  t.after(() => relay.stop());
  return relay;
}

const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `r.1.${i}`);

/** Appends messages of which those with these ids are too large; `together`: some in one entry. */
async function append(ids: readonly string[], large: readonly string[], together = 10): Promise<void> {
  const messages = ids.map((id) => {
    const body = JSON.stringify({ id, payload: 'x'.repeat(large.includes(id) ? 2 * LIMIT : 10) });
    return { body, target: 'a', stamps: '' };
  });
  for (let i = 0; i < messages.length; i += together) await queue.append(messages.slice(i, i + together));
}

async function letters(): Promise<{ id: string | undefined; deliveries: number; reason: string }[]> {
  const all = [];
  for await (const { id, deliveries, reason } of queue.deadLetters.list())
    all.push({ id, deliveries, reason });
  return all;
}

const timesAway = (relay: InProcess) =>
  relay.lastLines.filter((line) => /the broker is away/.test(line)).length;

/** A relay's answer at /readyz. */
async function readiness(relay: InProcess): Promise<string> {
  return (await fetch(`${await healthOf(relay)}/readyz`)).text();
}

for (const [together, mode] of [
  [1, 'pipelined'],
  [10, 'pipelined'],
  [10, 'serial'],
] as const) {
  // Regression: mqtt-packet refused the PUBACK's code. The connection broke five times, and hundreds arrived twice.
  test(`a message over message_size_limit is a dead letter at once, ${mode}, entries of ${together}`, async (t) => {
    const relay = await startRelay(t, { RELAY_MODE: mode });
    const ids = idsOf(1000);
    const large = ['r.1.400', 'r.1.700'];
    await append(ids, large, together);
    await eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
    await eventually(() => new Set(arrivals).size === 998, 'the others', WITHIN_MS);
    assert.deepEqual(arrivals.sort(), ids.filter((id) => !large.includes(id)).sort());
    const dead = await letters();
    assert.deepEqual(dead.map(({ id }) => id).sort(), large);
    for (const { deliveries, reason } of dead) {
      assert.match(reason, /too large/);
      assert.ok(deliveries <= 2, `${deliveries}`);
    }
    assert.equal(timesAway(relay), 0);
  });
}

/** A way to the broker that ends the connection with 0x95 at a large packet, as some brokers do. */
async function strictBroker(t: TestContext): Promise<string> {
  const { hostname, port, username, password } = new URL(broker.url('relay'));
  const at = await serve(t, (client: Socket) => {
    const upstream = connect(Number(port), hostname);
    upstream.on('error', () => {});
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('data', (bytes: Buffer) => {
      if (!client.writable) return;
      if (bytes.includes('x'.repeat(1000))) {
        upstream.unpipe(client);
        client.end(Buffer.from([0xe0, 2, 0x95, 0]));
      } else upstream.write(bytes);
    });
    upstream.pipe(client, { end: false });
  });
  return `mqtt://${username}:${password}@127.0.0.1:${at}`;
}

for (const qos of ['1', '0']) {
  test(`a broker that ends the connection with 0x95 does so once, QoS ${qos}`, async (t) => {
    const relay = await startRelay(t, { MQTT_URL: await strictBroker(t), MQTT_QOS: qos });
    const ids = idsOf(100);
    const large = ['r.1.40', 'r.1.70'];
    await append(ids, large, 1);
    await eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
    assert.ok(timesAway(relay) <= 1, `${timesAway(relay)}`);
    if (qos === '0') return;
    await eventually(() => new Set(arrivals).size === 98, 'the others', WITHIN_MS);
    assert.deepEqual((await letters()).map(({ id }) => id).sort(), large);
  });
}

// Regression: they took each other's connection over five times a second, for ever, without a hint.
test('two relays of one name: one waits and names the cause, the other delivers', async (t) => {
  const relays = [await startRelay(t), await startRelay(t)];
  const waiting = async () => {
    for (const relay of relays) if (/another client .*PROCESS_NAME/.test(await readiness(relay))) return true;
    return false;
  };
  await eventually(waiting, 'a relay that names the cause', WITHIN_MS);
  const ids = idsOf(200);
  await append(ids, []);
  await eventually(() => new Set(arrivals).size === 200, 'the messages', WITHIN_MS);
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue', WITHIN_MS);
  assert.deepEqual(await letters(), []);
});

test('a broker that says "session taken over" is believed at once', async (t) => {
  const port = await serve(t, (socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      socket.once('data', () => socket.end(Buffer.from([0xe0, 2, 0x8e, 0])));
    });
  });
  const relay = launch(t, { MQTT_URL: `mqtt://user:secret@127.0.0.1:${port}` });
  await relay.says(/the broker is away: another client .*arrival-relay-x.*PROCESS_NAME/, WITHIN_MS);
  assert.match(await readiness(relay), /another client/);
});
