/** Pipelines with a QUEUE_PREFIX of their own share a Redis, and nothing in it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { REDIS_USERS, redisAclFile, secrets } from '../stack/access.ts';
import { startCluster } from '../test/cluster.ts';
import { claimed } from '../test/entries.ts';
import { eventually, startRedis } from '../test/services.ts';
import { leftIn, openQueue } from './open.ts';
import type { MessageQueue, QueueKind } from './queue.ts';
import { Store } from './store.ts';

const WITHIN_MS = 20_000;

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
beforeEach(() => redis.flushall());

async function open(
  t: TestContext,
  url: string,
  prefix: string | undefined,
  kind: QueueKind,
  shards: number,
): Promise<Pipeline> {
  const options = { url, timeoutMs: WITHIN_MS, shards, ...(prefix !== undefined && { prefix }) };
  const store = new Store(options);
  const queue = openQueue(kind, options, store);
  t.after(() => {
    queue.close();
    store.close();
  });
  await queue.whenReady(WITHIN_MS);
  // A client of a cluster connects to a node when it needs it, and rejects the command.
  const joined = () =>
    queue.join().then(
      () => true,
      () => false,
    );
  await eventually(joined, 'all parts of the queue');
  return { queue, store };
}

interface Pipeline {
  queue: MessageQueue;
  store: Store;
}

const messages = (...ids: string[]) =>
  ids.map((id) => ({ body: JSON.stringify({ id }), target: id, stamps: '' }));

/** Fills, empties and buries, and leaves a message. */
async function use({ queue, store }: Pipeline, consumer: string): Promise<void> {
  await queue.append(messages('1', '2'));
  const entries = await claimed(queue, consumer, 2);
  for (const entry of entries) {
    if (entry.frames.length === 1) await queue.bury(entry, 1, 'nobody takes it');
    else await queue.acknowledge([entry]);
  }
  await queue.append(messages('3'));
  await store.record('x-1', 1, {});
  await store.trace('relay', ['{}']);
  await store.recordBroker('x');
}

for (const [kind, shards] of [
  ['stream', 1],
  ['stream', 2],
  ['list', 1],
] as const) {
  test(`${kind}, ${shards} shard(s): two pipelines in one Redis see nothing of each other`, async (t) => {
    const of = (prefix?: string) => open(t, server.url, prefix, kind, shards);
    const [one, two, plain] = [await of('a'), await of('a.b'), await of()];
    await use(one, 'one');
    assert.deepEqual(
      [await one.queue.depth(), await two.queue.depth(), await plain.queue.depth()],
      [1, 0, 0],
    );
    assert.equal(await two.queue.deadLetters.count(), 0);
    assert.equal(await two.store.brokerRecord(), undefined);
    const held = await redis.keys('*');
    const foreign = held.filter((key) => !/^(a|a\.b|arrival):/.test(key));
    assert.deepEqual(foreign, []);
    await use(two, 'two');
    assert.equal(await one.queue.depth(), 1);
    assert.equal((await leftIn(server.url, WITHIN_MS, 'a')).messages, 1);
    assert.equal((await leftIn(server.url, WITHIN_MS)).messages, 0);
  });
}

test('the users of a pipeline may use no key of another prefix', async (t) => {
  const passwords = secrets(REDIS_USERS);
  for (const line of redisAclFile(passwords, 'a')) {
    const [, user = '', ...rules] = line.split(' ');
    if (user !== 'default') await redis.acl('SETUSER', user, ...rules);
  }
  const urlOf = (user: 'ingest' | 'relay') => server.url.replace(/\/\/.*@/, `//${user}:${passwords[user]}@`);
  const relay = await open(t, urlOf('relay'), 'a', 'stream', 2);
  await use(await open(t, server.url, 'a', 'stream', 2), 'one');
  await relay.queue.claim('two', 1);
  await relay.store.recordBroker('x');
  const options = { url: urlOf('ingest'), timeoutMs: WITHIN_MS, prefix: 'a', shards: 2 };
  const reader = new Store(options);
  t.after(() => reader.close());
  const ingest = openQueue('stream', options, reader);
  await ingest.whenReady(WITHIN_MS);
  await ingest.append(messages('4'));
  assert.equal(await reader.brokerRecord(), 'x');
  for (const prefix of ['b', 'ab', 'arrival', 'a.b']) {
    const other = openQueue('stream', { url: urlOf('ingest'), timeoutMs: WITHIN_MS, prefix });
    t.after(() => other.close());
    await eventually(() => other.away === undefined, 'a connection');
    await assert.rejects(other.append(messages('4')), /NOPERM/);
  }
});

test('in a Redis Cluster the keys of a shard stay on one node', async (t) => {
  const cluster = await startCluster();
  t.after(() => cluster.remove());
  const url = cluster.url('relay').replace(/\/\/.*@/, '//admin:secret@');
  const [one, two] = [await open(t, url, 'one', 'stream', 3), await open(t, url, 'two', 'stream', 3)];
  await use(one, 'one');
  await use(two, 'two');
  assert.deepEqual([await one.queue.depth(), await two.queue.depth()], [1, 1]);
});
