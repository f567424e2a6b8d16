/** A relay that gets SIGTERM while Redis is stopped: it ends in time, and says where its messages are. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue, QueueKind } from '../queue/queue.ts';
import { type Link, openLink } from '../test/link.ts';
import { type Env, healthOf, inItsProcess, type Running, relayHere } from '../test/running.ts';
import { eventually, startBroker, startRedis } from '../test/services.ts';

const WITHIN_MS = 60_000;
const COUNT = 20;

let server: Awaited<ReturnType<typeof startRedis>>;
let broker: Awaited<ReturnType<typeof startBroker>>;
let redis: Redis;

before(async () => {
  [server, broker] = await Promise.all([startRedis(), startBroker()]);
  redis = new Redis(server.url);
});
after(async () => {
  redis.disconnect();
  await server.service.remove();
  await broker.service.remove();
});
beforeEach(() => redis.flushall());

interface Rig {
  queue: MessageQueue;
  relay: Running;
  link: Link;
}

/** @param own the relay has a process of its own, which gets SIGTERM */
async function start(t: TestContext, QUEUE: QueueKind, env: Env, own = false): Promise<Rig> {
  const shards = Number(env.STREAM_SHARDS ?? 1);
  const queue = openQueue(QUEUE, { url: server.url, timeoutMs: WITHIN_MS, shards });
  t.after(() => queue.close());
  t.after(() => server.service.signal('SIGCONT'));
  await queue.whenReady(WITHIN_MS);
  await queue.join();
  const link = await openLink(t, broker.url('relay'));
  const settings = {
    REDIS_URL: server.as('relay'),
    MQTT_URL: link.url,
    PROCESS_NAME: 'relay-x',
    RELAY_GRACE_MS: '300',
    // It claims no more while it holds the messages of a test.
    RELAY_WINDOW: String(COUNT),
    QUEUE,
    ...env,
  };
  const relay = own ? await inItsProcess(t, 'relay', settings) : relayHere(settings);
  t.after(() => relay.stop());
  await relay.says(/relaying as/, WITHIN_MS);
  return { queue, relay, link };
}

const messages = () =>
  Array.from({ length: COUNT }, (_, i) => ({ body: `{"id":"r.1.${i}"}`, target: 'a', stamps: '' }));

/** The relay has taken what is in the queue, and the broker acknowledges nothing. */
async function hold({ queue, relay, link }: Rig): Promise<void> {
  // A relay that does not know the size of messages yet takes a few, and no more while its window has less room than half.
  await queue.append(messages().slice(0, 1));
  const knows = async () =>
    (await figure(relay, 'messages_published_total')) === 1 && (await figure(relay, 'messages_held')) === 0;
  await eventually(knows, 'the first message', WITHIN_MS);
  link.mute = true;
  await queue.append(messages());
  const claimed = async () => (await figure(relay, 'messages_held')) === COUNT;
  await eventually(claimed, 'the claim', WITHIN_MS).catch(async (error: Error) => {
    const [held, depth] = [await figure(relay, 'messages_held'), await queue.depth()];
    throw new Error(`${error.message}; ${held} held, ${depth} waiting\n${relay.lastLines.join('\n')}`);
  });
}

async function figure(relay: Running, name: string): Promise<number> {
  const text = await (await fetch(`${await healthOf(relay)}/metrics`)).text();
  return Number(new RegExp(`^arrival_relay_${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Stops the relay, in a process of its own with SIGTERM. Resolves with its exit code and its log. */
async function end({ relay }: Rig, meanwhile = () => {}): Promise<{ code: string; log: string }> {
  void relay.stop(WITHIN_MS);
  meanwhile();
  const how = await relay.ended;
  return { code: how.replace('exited with code ', ''), log: relay.lastLines.join('\n') };
}

for (const REDIS_TIMEOUT_MS of ['2000', '60000']) {
  // Regression: it was killed by its own timeout, with code 1 and no word about its messages.
  test(`stream, a timeout of ${REDIS_TIMEOUT_MS} ms: what it holds stays in the queue`, async (t) => {
    const rig = await start(t, 'stream', { REDIS_TIMEOUT_MS }, true);
    await hold(rig);
    server.service.signal('SIGSTOP');
    const { code, log } = await end(rig);
    assert.equal(code, '0');
    assert.match(log, /20 messages .*stay in the queue/);
    server.service.signal('SIGCONT');
    assert.equal(await rig.queue.depth(), COUNT);
  });

  test(`list, a timeout of ${REDIS_TIMEOUT_MS} ms: it says how many messages are lost`, async (t) => {
    const rig = await start(t, 'list', { REDIS_TIMEOUT_MS }, true);
    await hold(rig);
    server.service.signal('SIGSTOP');
    const { code, log } = await end(rig);
    assert.equal(code, '1');
    assert.match(log, /20 messages .*lost/);
    assert.doesNotMatch(log, /killed by timeout/);
    // It has asked Redis, on a connection that stood.
    if (!/unless Redis takes them/.test(log)) return assert.equal(REDIS_TIMEOUT_MS, '2000');
    server.service.signal('SIGCONT');
    await eventually(async () => (await rig.queue.depth()) >= COUNT, 'the messages', WITHIN_MS);
    assert.equal(await rig.queue.depth(), COUNT);
  });
}

test('list: a Redis that goes on within the grace has the messages when the relay ends', async (t) => {
  const rig = await start(t, 'list', { REDIS_TIMEOUT_MS: '60000', RELAY_GRACE_MS: '1000' });
  await hold(rig);
  server.service.signal('SIGSTOP');
  const { code, log } = await end(rig, () => server.service.signal('SIGCONT'));
  assert.deepEqual([code, await rig.queue.depth()], ['0', COUNT], log);
  assert.match(log, /20 messages .*back in the queue/);
});

test('messages that were delivered, and not acknowledged, are said to arrive again', async (t) => {
  const rig = await start(t, 'stream', { REDIS_TIMEOUT_MS: '60000' });
  await redis.call('ACL', 'SETUSER', 'relay', '-xack');
  t.after(() => redis.call('ACL', 'SETUSER', 'relay', '+xack'));
  await rig.queue.append(messages());
  await eventually(
    async () => (await figure(rig.relay, 'messages_published_total')) === COUNT,
    'deliveries',
    WITHIN_MS,
  );
  server.service.signal('SIGSTOP');
  const { code, log } = await end(rig);
  assert.equal(code, '0');
  assert.match(log, /20 messages were delivered, .*arrive again/);
});

test('list: a Redis that stops while it is idle may lose what it gives for the last claim', async (t) => {
  const rig = await start(t, 'list', { REDIS_TIMEOUT_MS: '60000' });
  server.service.signal('SIGSTOP');
  const { code, log } = await end(rig);
  assert.equal(code, '1');
  assert.match(log, /has not answered the last claim/);
});

test('shards: what a relay holds stays in the queue', async (t) => {
  const rig = await start(t, 'stream', { REDIS_TIMEOUT_MS: '60000', STREAM_SHARDS: '2' });
  await hold(rig);
  server.service.signal('SIGSTOP');
  const { code, log } = await end(rig);
  assert.equal(code, '0');
  assert.match(log, /20 messages .*stay in the queue/);
});
