/** A Redis above its maxmemory refuses what may need memory. Whatever a relay needs to drain it has to work. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { claimed } from '../test/entries.ts';
import { eventually, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import type { Entry, MessageQueue, QueueKind } from './queue.ts';

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
const opened: MessageQueue[] = [];

before(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
after(async () => {
  redis.disconnect();
  await server.service.remove();
});
beforeEach(() => redis.flushall());
afterEach(async () => {
  await redis.config('SET', 'maxmemory', '0');
  for (const queue of opened.splice(0)) queue.close();
});

const KINDS: [name: string, kind: QueueKind, shards: number][] = [
  ['stream', 'stream', 1],
  ['shards', 'stream', 2],
  ['list', 'list', 1],
];

async function open(
  kind: QueueKind,
  shards: number,
  user: 'ingest' | 'relay',
  leaseMs = 600,
): Promise<MessageQueue> {
  const queue = openQueue(kind, { url: server.as(user), timeoutMs: 20_000, shards, leaseMs });
  opened.push(queue);
  await queue.whenReady(20_000);
  return queue;
}

const messages = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ body: `{"id":"${i}"}`, target: `a/${i}`, stamps: '' }));
const full = () => redis.config('SET', 'maxmemory', '1');

for (const [name, kind, shards] of KINDS) {
  // Regression: leases could not be renewed, so relays with shards stopped for ever.
  test(`${name}: a relay that starts drains a full Redis, for longer than a lease`, async () => {
    const ingest = await open(kind, shards, 'ingest');
    const relay = await open(kind, shards, 'relay');
    await ingest.append(messages(20));
    await full();
    await assert.rejects(ingest.append(messages(1)), /OOM/);
    await relay.join();
    const since = performance.now();
    const entries = await claimed(relay, 'one', 20);
    while (performance.now() - since < 2000) {
      await relay.renew(
        'one',
        entries.map(({ id }) => id),
      );
      await relay.claim('one', 20);
      assert.equal(relay.problem, undefined);
    }
    await relay.acknowledge(entries);
    assert.equal(await ingest.depth(), 0);
    await relay.signOff('one', []);
  });

  test(`${name}: a full Redis takes a dead letter, and parts of an entry`, async () => {
    const ingest = await open(kind, shards, 'ingest');
    const relay = await open(kind, shards, 'relay');
    await relay.join();
    await ingest.append(messages(2).map((message) => ({ ...message, target: 'a' })));
    const [entry, ...others] = await claimed(relay, 'one', 2);
    assert.ok(entry);
    // A list has no entries of several messages.
    assert.equal(others.length, kind === 'list' ? 1 : 0);
    await full();
    if (kind === 'list') {
      // Regression: it waited for memory.
      await relay.bury(entry, 5, 'nobody takes it');
      const letters = [];
      for await (const { id, reason, deliveries } of relay.deadLetters.list())
        letters.push([id, reason, deliveries]);
      assert.deepEqual(letters, [['0', 'nobody takes it', 5]]);
    } else {
      const [frame, other] = entry.frames as [Buffer, Buffer];
      const part = { deliveries: 1, suspect: true, reason: 'refused' };
      await relay.split(
        entry,
        [frame, other].map((one) => ({ frame: one, ...part })),
        false,
      );
      const [bad, good] = (await claimed(relay, 'one', 2)) as [Entry, Entry];
      await relay.attempt('one', bad.id, 2);
      await relay.bury(bad, 5, 'nobody takes it');
      await relay.acknowledge([good]);
    }
    assert.equal(await ingest.depth(), 0);
  });

  test(`${name}: a relay that ends gives back what it holds of a full Redis`, async () => {
    const ingest = await open(kind, shards, 'ingest');
    const relay = await open(kind, shards, 'relay');
    await relay.join();
    await ingest.append(messages(10));
    const entries = await claimed(relay, 'one', 10);
    await full();
    await relay.signOff('one', entries);
    const heir = await open(kind, shards, 'relay', 100);
    const bodies: string[] = [];
    await eventually(async () => {
      const claims = [await heir.claim('two', 10), await heir.recover('two', 100, 10)];
      for (const { frames } of claims.flatMap((claim) => claim.entries)) bodies.push(...frames.map(String));
      return bodies.length >= 10;
    }, 'the messages of the relay that ended');
    assert.equal(new Set(bodies).size, 10);
  });
}

test('list: a full Redis is drained one by one', async () => {
  const ingest = await open('list', 1, 'ingest');
  const relay = await open('list', 1, 'relay');
  await ingest.append(messages(20));
  await relay.claim('one', 1);
  await full();
  const entries = await claimed(relay, 'one', 19, 1);
  assert.equal(entries.length, 19);
});

test('shards: a relay says that it has none while others hold all', async () => {
  const relay = await open('stream', 2, 'relay', 60_000);
  await relay.join();
  for (const shard of [0, 1]) await redis.set(`arrival:{${shard}}:lease`, 'other 17');
  await eventually(async () => {
    await relay.claim('one', 1);
    return relay.problem !== undefined;
  }, 'a problem');
  assert.match(relay.problem?.problem ?? '', /others hold all 2/);
  await redis.del('arrival:{0}:lease', 'arrival:{1}:lease');
  await eventually(() => relay.shards === 2, 'both shards');
  assert.equal(relay.problem, undefined);
});

test('shards: before its first look a relay does not say that others hold all', async () => {
  const relay = await open('stream', 2, 'relay', 60_000);
  await relay.join();
  const claim = relay.claim('one', 1);
  // Redis answers in a later turn of the event loop.
  while (relay.problem === undefined) await Promise.resolve();
  assert.doesNotMatch(relay.problem.problem, /others/);
  await claim;
  await eventually(() => relay.shards === 2, 'both shards');
  assert.equal(relay.problem, undefined);
});

// The last test: it takes rights away.
test('shards: why leases cannot be had is said', async () => {
  const relay = await open('stream', 2, 'relay');
  await relay.join();
  await eventually(async () => {
    await relay.claim('one', 1);
    return relay.shards === 2;
  }, 'both shards');
  await redis.acl('SETUSER', 'relay', 'clearselectors');
  await eventually(() => relay.problem !== undefined, 'a problem');
  assert.match(relay.problem?.problem ?? '', /does not allow it/);
  await eventually(() => relay.shards === 0, 'the end of the leases');
  await assert.rejects(relay.claim('one', 1), /NOPERM/);
});
