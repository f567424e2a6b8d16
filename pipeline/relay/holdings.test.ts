import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { openLog } from '../common/log.ts';
import type { QueueOptions } from '../queue/connection.ts';
import { shardOf } from '../queue/keys.ts';
import { openQueue } from '../queue/open.ts';
import { type Entry, messagesOf } from '../queue/queue.ts';
import { eventually, startRedis } from '../test/services.ts';
import type { Broker } from './broker.ts';
import { Holdings, hold } from './holdings.ts';
import type { Publication } from './publication.ts';
import { Relay } from './relay.ts';

const WITHIN_MS = 30_000;
const LEASE_MS = 300;
const QUOTA_EXCEEDED = 0x97;

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
before(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
after(async () => {
  redis.disconnect();
  await server.service.remove();
});

test('giveUp gives up each entry once, unless it is delivered or in flight', () => {
  const holdings = new Holdings();
  const entry = (id: string): Entry => ({
    id,
    frames: [Buffer.from('a\n\n1'), Buffer.from('a\n\n2')],
    deliveries: 1,
    suspect: false,
    reason: '',
  });
  const [delivered, inFlight, begun, waiting] = holdings.take(['1', '2', '3', '4'].map(entry), 0);
  assert.ok(delivered && inFlight && begun && waiting);
  for (const held of [delivered, inFlight, begun, waiting]) {
    held.messages.push(hold(held, 0, false), hold(held, 1, false));
  }
  delivered.open = 0;
  delivered.delivered = 2;
  holdings.done(delivered);
  Object.assign(inFlight.messages[1] as object, { sent: 7 });
  begun.open = 1;
  assert.deepEqual(holdings.giveUp(['1', '2', '3', 'unknown']), ['3']);
  assert.deepEqual(holdings.giveUp(['3', '4']), ['4']);
  assert.deepEqual([holdings.messages, holdings.bytes, holdings.delivered], [4, 16, 2]);
  holdings.acknowledged(delivered);
  holdings.drop(inFlight);
  assert.deepEqual([holdings.messages, holdings.delivered, holdings.batches.size], [0, 0, 0]);
  assert.equal(holdings.bytes, 0);
});

/**
 * A relay with a full window, or ten messages, at a broker that acknowledges nothing until it `answers`, with its `code`.
 * @param rights of its user in Redis
 */
async function held(t: TestContext, shards: number, window = 8, rights = ['~*', '&*', '+@all']) {
  await redis.flushall();
  await redis.acl('SETUSER', 'own', 'reset', 'on', '>secret', ...rights);
  const url = server.url.replace('//default:', '//own:');
  let relay: Relay | undefined;
  t.after(async () => {
    broker.up = broker.answers = true;
    broker.code = 0;
    relay?.suspend();
    relay?.resume();
    await relay?.stop(WITHIN_MS);
  });
  const open = async (onLost: QueueOptions['onLost'] = () => []) => {
    const options = { url, timeoutMs: WITHIN_MS, shards, leaseMs: LEASE_MS, onLost };
    const queue = openQueue('stream', options);
    t.after(() => queue.close());
    await queue.whenReady(WITHIN_MS);
    await queue.join();
    return queue;
  };
  const queue = await open((ids) => relay?.giveUp(ids) ?? []);
  const append = (from: number, to: number) =>
    queue.append(
      Array.from({ length: to - from }, (_, i) => ({ body: String(from + i), target: 'a', stamps: '' })),
    );
  const bodies: string[] = [];
  const broker = {
    up: true,
    reason: 'connection closed',
    receiveMaximum: 100,
    maximumPacketSize: Number.POSITIVE_INFINITY,
    answers: false,
    code: 0,
    publish({ payload }: Publication, answered: (reasonCode: number) => void) {
      bodies.push(String(payload));
      if (this.answers) setImmediate(answered, this.code);
    },
    together: (publish: () => void) => publish(),
    break: () => {},
  };
  relay = new Relay({
    queue,
    broker: broker as unknown as Broker,
    qos: 1,
    now: () => Date.now() * 1000,
    consumer: 'one',
    log: openLog('silent'),
    batch: 100,
    window,
    memory: 1e9,
    timeoutMs: WITHIN_MS,
    leaseMs: LEASE_MS,
    deliveries: 5,
  });
  await append(0, 10);
  relay.start();
  await eventually(() => bodies.length === Math.min(window, 10), 'a full window');
  bodies.length = 0;
  return { relay, queue, broker, bodies, open, append };
}

test('a relay without a broker loses its shards after the lease, and publishes nothing twice', async (t) => {
  const { relay, queue, broker, bodies, open, append } = await held(t, 2);
  broker.up = false;
  relay.suspend();
  await append(10, 15);
  const another = await open();
  let taken = 0;
  await eventually(async () => {
    const { entries } = await another.claim('two', 100);
    if (entries.length > 0) await another.acknowledge(entries);
    taken += messagesOf(entries);
    return taken === 15;
  }, "the relay's messages");
  await another.signOff('two', []);
  assert.equal(relay.counters.held, 0);

  broker.answers = true;
  broker.up = true;
  relay.resume();
  await append(15, 16);
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue');
  assert.deepEqual(bodies, ['15']);
});

// Regression: the claim loop slept on, as nothing woke it when the delays of messages that it had given up were over.
test('a relay whose whole window waits for another attempt claims again after it has lost its shards', async (t) => {
  const { relay, queue, broker } = await held(t, 2);
  broker.answers = true;
  broker.code = QUOTA_EXCEEDED;
  relay.suspend();
  relay.resume();
  await eventually(() => relay.counters.claimed > 10 && relay.counters.held === 0, 'no shard and no message');
  broker.code = 0;
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue');
});

// Regression: what other shards had acknowledged counted as held for as long as one shard failed, up to a full window.
test('a shard that takes no acknowledgements does not stop the relay', async (t) => {
  const inOther = ['b', 'c', 'd', 'e'].find((target) => shardOf(target, 2) !== shardOf('a', 2)) as string;
  const otherKeys = `~arrival:{${shardOf(inOther, 2)}}:*`;
  const rights = ['~*', '&*', '+@all', '-xack', `(${otherKeys} +@all)`];
  const { relay, queue, broker, append } = await held(t, 2, 20, rights);
  broker.answers = true;
  relay.suspend();
  relay.resume();
  await eventually(() => relay.counters.published === 10, 'the first shard');
  for (let n = 0; n < 40; n++) await queue.append([{ body: String(n), target: inOther, stamps: '' }]);
  await eventually(() => relay.counters.acknowledged === 40, 'the other shard');
  assert.equal(relay.counters.held, 10);
  await redis.acl('SETUSER', 'own', '+xack');
  await append(10, 11);
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue');
});

test('without shards the lease is renewed, and messages are published when the broker is back', async (t) => {
  const { relay, queue, broker, bodies } = await held(t, 1);
  broker.up = false;
  relay.suspend();
  let [renewals, before] = [0, 0];
  await eventually(async () => {
    const rows = (await redis.xpending('arrival:messages', 'relays', '-', '+', 10)) as [
      string,
      string,
      number,
    ][];
    assert.deepEqual(
      rows.map(([, holder]) => holder),
      ['one'],
    );
    // Between two looks only a renewal makes it younger.
    const [, , idle] = rows[0] as [string, string, number];
    if (idle < before) renewals++;
    before = idle;
    return renewals >= 3;
  }, 'renewals');
  broker.answers = true;
  broker.up = true;
  relay.resume();
  await eventually(async () => (await queue.depth()) === 0, 'an empty queue');
  assert.deepEqual(bodies, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
});
