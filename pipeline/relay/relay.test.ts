import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync, type IPublishPacket, type MqttClient } from 'mqtt';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue, QueueKind } from '../queue/queue.ts';
import { Store } from '../queue/store.ts';
import { Clock } from '../shared/clock.ts';
import { formatStamps } from '../shared/hops.ts';
import { type Hops, hopsOf } from '../test/hops.ts';
import { AUTHORIZED, TestIngest } from '../test/ingest.ts';
import { type Env, healthOf, type InProcess, inItsProcess, relayHere } from '../test/running.ts';
import { eventually, startBroker, startRedis } from '../test/services.ts';

/** Longer than a busy machine pauses a relay. Otherwise its messages would arrive twice. */
const LEASE_MS = 30_000;
const SHORT_LEASE_MS = 400;

interface Arrival {
  topic: string;
  body: string;
  hops: Hops | undefined;
}

let redisServer: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
let redis: Redis;
let store: Store;
let queue: MessageQueue;
let clock: Clock;
let subscriber: MqttClient;
let arrivals: Arrival[] = [];
const statuses = new Map<string, string>();

before(async () => {
  [redisServer, broker] = await Promise.all([startRedis(), startBroker()]);
  redis = new Redis(redisServer.url);
  const options = { url: redisServer.url, timeoutMs: 20_000 };
  store = new Store(options);
  queue = openQueue('stream', options, store);
  await queue.whenReady(30_000);
  clock = new Clock(() => store.time());
  await clock.probe();
  subscriber = await connectAsync(broker.url('subscriber'), { protocolVersion: 5, reconnectPeriod: 20 });
  subscriber.on('error', () => {});
  await subscriber.subscribeAsync(['messages/#', 'status/#'], { qos: 1 });
  subscriber.on('message', (topic, payload, packet) => {
    if (topic.startsWith('status/')) {
      statuses.set(topic, payload.toString());
      return;
    }
    const hops = packet.properties?.userProperties?.hops as string | undefined;
    arrivals.push({
      topic,
      body: payload.toString(),
      hops: hops === undefined ? undefined : hopsOf(hops),
    });
  });
});

after(async () => {
  await subscriber.endAsync(true);
  queue.close();
  store.close();
  redis.disconnect();
  await redisServer.service.remove();
  await broker.service.remove();
});

beforeEach(async () => {
  arrivals = [];
  await redis.flushall();
});

const settings = (PROCESS_NAME: string, env: Env = {}): Env => ({
  REDIS_URL: redisServer.as('relay'),
  MQTT_URL: broker.url('relay'),
  PROCESS_NAME,
  RELAY_LEASE_MS: String(LEASE_MS),
  RELAY_DELIVERIES: '3',
  ...env,
});

/** A relay that ends with the test. */
async function startRelay(t: TestContext, name: string, env?: Env): Promise<InProcess> {
  const relay = relayHere(settings(name, env));
  t.after(() => relay.stop());
  await relay.says(/relaying as/, 30_000);
  return relay;
}

/** A relay that can be killed. */
async function startVictim(t: TestContext, name: string) {
  const relay = await inItsProcess(t, 'relay', settings(name));
  await relay.says(/relaying as/, 30_000);
  const kill = async () => {
    relay.signal('SIGKILL');
    await relay.ended;
  };
  return { kill };
}

/** The consumers of the relays. The group has one from its first message. */
async function consumers(): Promise<string[]> {
  const reply = (await redis.xinfo('CONSUMERS', 'arrival:messages', 'relays').catch(() => [])) as string[][];
  return reply.map((consumer) => consumer[1] as string);
}

async function append(count: number, target = 'user/17'): Promise<string[]> {
  const now = clock.now();
  const bodies = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ id: `r.1.${i}`, text: 'ä \u2028' }),
  );
  const messages = bodies.map((body) => ({
    body,
    target,
    stamps: formatStamps(now, clock.now()),
  }));
  for (let i = 0; i < count; i += 1000) await queue.append(messages.slice(i, i + 1000));
  return bodies;
}

async function settled(): Promise<void> {
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue');
}

async function pending(): Promise<number> {
  const [count] = (await redis.xpending('arrival:messages', 'relays')) as [number];
  return count;
}

/** Waits until relays hold all `count` messages. */
async function claimed(count: number): Promise<void> {
  await eventually(async () => {
    const [entries, held, depth] = [
      await redis.xlen('arrival:messages'),
      await pending(),
      await queue.depth(),
    ];
    return depth === count && held === entries;
  }, 'the claim');
}

async function deadLetters(): Promise<Record<string, string>[]> {
  const raw = await redis.xrange('arrival:dead-letters', '-', '+');
  return raw.map(([, fields]) =>
    Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] as string]] : []))),
  );
}

test('messages arrive unchanged, in order and with their hops, and leave the queue', async (t) => {
  const relay = await startRelay(t, 'relay-a');
  const bodies = await append(500);
  await eventually(() => arrivals.length >= 500, 'all arrivals');
  assert.deepEqual(
    arrivals.map(({ body }) => body),
    bodies,
  );
  for (const { topic, hops } of arrivals) {
    assert.equal(topic, 'messages/user/17');
    assert.ok(hops);
    assert.ok(hops.received <= hops.queued && hops.queued <= hops.claimed && hops.claimed <= hops.published);
    assert.ok(hops.published <= clock.now());
  }
  const health = await healthOf(relay);
  const scraped = await (await fetch(`${health}/metrics`)).text();
  for (const [name, from, to] of [
    ['arrival_queue_seconds', 'queued', 'claimed'],
    ['arrival_relay_seconds', 'claimed', 'published'],
  ] as const) {
    const scrape = (what: string) => Number(new RegExp(`^${name}_${what} (\\S+)$`, 'm').exec(scraped)?.[1]);
    assert.equal(scrape('count'), 500, name);
    const sum_us = arrivals.reduce((sum, { hops }) => sum + (hops as Hops)[to] - (hops as Hops)[from], 0);
    assert.equal(Math.round(scrape('sum') * 1e6), sum_us, name);
  }
  await settled();
  assert.equal(await pending(), 0);
});

test('a message without stamps arrives without hops', async (t) => {
  await startRelay(t, 'relay-plain');
  await queue.append([{ body: '{"id":"plain"}', target: 'a', stamps: '' }]);
  await eventually(() => arrivals.length === 1, 'its arrival');
  assert.deepEqual(arrivals, [{ topic: 'messages/a', body: '{"id":"plain"}', hops: undefined }]);
});

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
for (const kind of ['stream', 'list'] as QueueKind[]) {
  test(`${kind}: the trace context of a request reaches the subscriber unchanged`, async (t) => {
    const own = openQueue(kind, { url: redisServer.url, timeoutMs: 20_000 });
    await own.whenReady(30_000);
    const ingest = await TestIngest.start({ queue: own, now: () => clock.now() });
    const relay = await startRelay(t, `relay-trace-${kind}`, { QUEUE: kind });
    const got: Record<string, unknown>[] = [];
    const note = (topic: string, _payload: Buffer, { properties }: IPublishPacket) => {
      if (topic.startsWith('messages/')) got.push({ ...properties?.userProperties });
    };
    subscriber.on('message', note);
    t.after(async () => {
      subscriber.off('message', note);
      await relay.stop();
      await ingest.close();
      own.close();
    });
    const tracestate = 'rojo=00f067aa0ba902b7, congo=t61rcWkgMzE';
    const sent: [path: string, headers: Record<string, string>, ...expected: object[]][] = [
      ['/messages', { traceparent: PARENT, tracestate }, { traceparent: PARENT, tracestate }],
      ['/messages', {}, {}],
      ['/messages', { traceparent: `00${PARENT}`, tracestate }, {}],
      ['/messages', { tracestate }, {}],
      ['/messages/batch', { traceparent: PARENT }, { traceparent: PARENT }, { traceparent: PARENT }],
    ];
    for (const [path, headers, ...expected] of sent) {
      const one = { id: 'r.1.1', target: 'user/1' };
      const body = path === '/messages' ? one : expected.map(() => one);
      assert.equal((await ingest.post(path, body, { ...AUTHORIZED, ...headers })).status, 202);
      await eventually(() => got.length === expected.length, 'the arrival');
      for (const { hops, ...others } of got.splice(0)) {
        assert.match(String(hops), /^\d+,\d+,-?\d+,\d+$/);
        assert.deepEqual(others, expected.shift());
      }
    }
  });
}

test('the status of a relay is online while it runs, and offline after a stop or a kill', async (t) => {
  const topic = 'status/relay/relay-status';
  const relay = await startRelay(t, 'relay-status');
  await eventually(() => statuses.get(topic) === 'online', 'online');
  await relay.stop();
  await eventually(() => statuses.get(topic) === 'offline', 'offline');
  const killed = await startVictim(t, 'relay-status');
  await eventually(() => statuses.get(topic) === 'online', 'online again');
  await killed.kill();
  await eventually(() => statuses.get(topic) === 'offline', 'the last will');
});

test('after the lease another relay recovers all messages of a killed relay', async (t) => {
  const victim = await startVictim(t, 'relay-victim');
  // Without a PUBACK the messages stay claimed.
  broker.service.signal('SIGSTOP');
  t.after(async () => broker.service.signal('SIGCONT'));
  const bodies = await append(300);
  await claimed(300);
  await victim.kill();
  broker.service.signal('SIGCONT');
  await startRelay(t, 'relay-heir', { RELAY_LEASE_MS: String(SHORT_LEASE_MS) });
  await settled();
  await eventually(() => new Set(arrivals.map(({ body }) => body)).size === 300, 'every message');
  assert.deepEqual([...new Set(arrivals.map(({ body }) => body))].sort(), bodies.sort());
});

test('a relay that stops under load finishes its messages: none is lost or arrives twice', async (t) => {
  const first = await startRelay(t, 'relay-first');
  let sending = true;
  let sent = 0;
  const load = (async () => {
    while (sending) {
      await append(20);
      sent += 20;
    }
  })();
  await eventually(() => arrivals.length > 200, 'load');
  await startRelay(t, 'relay-second');
  await first.stop();
  assert.equal(await first.ended, 'exited with code 0');
  sending = false;
  await load;
  await settled();
  await eventually(() => arrivals.length >= sent, 'every message');
  assert.equal(arrivals.length, sent);
  assert.ok(!(await consumers()).some((name) => name.startsWith('relay-first')), 'it signed off');
});

test('a relay that stops without a broker ends by its grace, and leaves its messages queued', async (t) => {
  const relay = await startRelay(t, 'relay-waiting', { RELAY_GRACE_MS: '300' });
  broker.service.signal('SIGSTOP');
  t.after(async () => broker.service.signal('SIGCONT'));
  await append(50);
  await claimed(50);
  const started = performance.now();
  await relay.stop();
  assert.ok(performance.now() - started < 30_000);
  assert.equal(await queue.depth(), 50);
});

test('the relay publishes again what was in flight when the broker restarted', async (t) => {
  await startRelay(t, 'relay-patient');
  broker.service.signal('SIGSTOP');
  await append(100);
  await claimed(100);
  const gone = new Promise<void>((resolve) => subscriber.once('close', () => resolve()));
  broker.service.signal('SIGKILL');
  await gone;
  await broker.service.start();
  await settled();
});

test('missing frames and invalid stamps become dead letters, and their neighbours arrive', async (t) => {
  await startRelay(t, 'relay-picky');
  await redis.xadd('arrival:messages', '*', 'body', '{"id":"half"}');
  await redis.xadd('arrival:messages', '*', 'frame', 'a\nnow\n{"id":"odd"}');
  const packed = ['a\n\n{"id":"1"}', 'a\nthen\n{"id":"none"}', 'a\n\n{"id":"3"}'].join('\x1e');
  await redis.xadd('arrival:messages', '*', 'frame', packed);
  await append(1);
  await settled();
  await eventually(() => arrivals.length === 3, 'the neighbours');
  assert.deepEqual(arrivals.map(({ body }) => JSON.parse(body).id).sort(), ['1', '3', 'r.1.0']);
  const letters = await deadLetters();
  assert.deepEqual(
    letters.map(({ frame, body, reason }) => [frame ?? body, reason]),
    [
      ['{"id":"half"}', 'the entry has no frame'],
      ['a\nnow\n{"id":"odd"}', '"now" is not 2 comma-separated integers of microseconds'],
      ['a\nthen\n{"id":"none"}', '"then" is not 2 comma-separated integers of microseconds'],
    ],
  );
});

test('a message that the broker keeps refusing is a dead letter after RELAY_DELIVERIES', async (t) => {
  await startRelay(t, 'relay-refused', { MQTT_URL: broker.url('subscriber') });
  const [body] = await append(1); // `subscriber` may not write
  await eventually(async () => (await deadLetters()).length === 1, 'a dead letter');
  const [letter] = await deadLetters();
  assert.ok(letter?.frame?.startsWith('user/17\n') && letter.frame.endsWith(`\n${body}`));
  assert.equal(letter?.deliveries, '3');
  assert.match(letter?.reason ?? '', /Not authorized/);
  await settled();
});

test('wrong credentials for the broker are reported in one line, with exit code 1', async (t) => {
  const wrong = broker.url('relay').replace('secret', 'wrong');
  const relay = await inItsProcess(t, 'relay', settings('relay-wrong', { MQTT_URL: wrong }));
  assert.equal(await relay.ended, 'exited with code 1');
  const plain = relay.lastLines.filter((line) => !line.startsWith('{'));
  assert.equal(plain.length, 1);
  assert.match(plain[0] ?? '', /^MQTT_URL: .*refuses.*Not authorized/);
});
