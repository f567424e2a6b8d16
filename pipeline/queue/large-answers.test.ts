/** Redis closes the connection of an answer above its client-output-buffer-limit, and of a value above its proto-max-bulk-len. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import type { RedisUser } from '../stack/access.ts';
import { idsOf } from '../test/entries.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import { type Claim, type MessageQueue, NOTHING, type QueueKind } from './queue.ts';

const WITHIN_MS = 20_000;
const LIMIT = 262_144;

let service: Service;
let redis: Redis;
let as: Awaited<ReturnType<typeof startRedis>>['as'];

before(async () => {
  const started = await startRedis();
  ({ service, as } = started);
  redis = new Redis(started.url);
  await redis.config('SET', 'client-output-buffer-limit', `normal ${LIMIT} 0 0`);
});
after(async () => {
  redis.disconnect();
  await service.remove();
});
beforeEach(() => redis.flushall());

async function open(
  t: TestContext,
  kind: QueueKind,
  shards = 1,
  user: RedisUser = 'relay',
): Promise<MessageQueue> {
  const queue = openQueue(kind, { url: as(user), timeoutMs: WITHIN_MS, shards, leaseMs: 600 });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  if (user === 'relay') await queue.join();
  return queue;
}

/** Appends a message of each of these sizes, with its number for an id. */
async function append(
  t: TestContext,
  kind: QueueKind,
  shards: number,
  sizes: readonly number[],
): Promise<void> {
  const ingest = await open(t, kind, shards, 'ingest');
  for (const [id, size] of sizes.entries()) {
    const body = JSON.stringify({ id: String(id), payload: 'x'.repeat(size) });
    await ingest.append([{ body, target: 'a', stamps: '' }]);
  }
}

/** Reads as a relay does until it has so many messages; resolves with their ids, in turn, and how often a claim failed. */
async function drain(queue: MessageQueue, consumer: string, count: number) {
  const ids: string[] = [];
  const held = new Set<string>();
  let failures = 0;
  const take = ({ entries }: Claim) => {
    ids.push(...idsOf(entries));
    for (const { id } of entries) held.add(id);
    return entries.length;
  };
  await eventually(async () => {
    try {
      take(await queue.claim(consumer, 500));
    } catch (error) {
      assert.ok(queue.isDisconnection(error as Error), (error as Error).message);
      failures++;
      const unseen = () => queue.recoverUnseen(consumer, 500, (id) => held.has(id));
      // It fails until its answers are small enough.
      await eventually(() =>
        unseen().then(
          (claim) => take(claim) === 0,
          () => false,
        ),
      );
    }
    return ids.length >= count;
  }, `${count} messages`);
  return { ids, failures };
}

const SIZES: [what: string, sizes: number[]][] = [
  ['many that together exceed it', new Array(100).fill(30_000)],
  ['each that exceeds it alone', new Array(5).fill(3 * LIMIT)],
  ['one of them that exceeds it alone', new Array(60).fill(2000).with(30, 2 * LIMIT)],
];

for (const [kind, shards] of [
  ['stream', 1],
  ['stream', 2],
  ['list', 1],
] as const) {
  for (const [what, sizes] of SIZES) {
    // Regression: the relay repeated the same claim every 2 s for ever.
    test(`${kind}, ${shards} shard(s): messages come once and in order, ${what}`, async (t) => {
      const queue = await open(t, kind, shards);
      await append(t, kind, shards, sizes);
      const { ids } = await drain(queue, 'one', sizes.length);
      assert.deepEqual(ids, [...sizes.keys()].map(String));
    });
  }
}

test('messages of a dead relay are taken over, though together they exceed it', async (t) => {
  const [dead, heir] = [await open(t, 'stream'), await open(t, 'stream')];
  await append(t, 'stream', 1, new Array(100).fill(30_000));
  await drain(dead, 'dead', 100);
  dead.close();
  const ids: string[] = [];
  const held = new Set<string>();
  await eventually(async () => {
    const unseen = () => heir.recoverUnseen('heir', 500, (id) => held.has(id));
    for (const work of [() => heir.recover('heir', 100, 500), unseen]) {
      const { entries } = await work().catch(() => NOTHING);
      ids.push(...idsOf(entries));
      for (const { id } of entries) held.add(id);
    }
    return ids.length >= 100;
  }, 'the messages of the dead relay');
  assert.deepEqual([ids.length, new Set(ids).size], [100, 100]);
});

test('claims ask for less after some that broke', async (t) => {
  const queue = await open(t, 'stream');
  const sizes = new Array(400).fill(20_000);
  await append(t, 'stream', 1, sizes);
  const { failures } = await drain(queue, 'one', sizes.length);
  // Each failure lowers the size of a claim: from 16 MiB to 1 MiB, then to 64 KiB.
  assert.ok(failures <= 2, `${failures} claims failed`);
});

for (const kind of ['stream', 'list'] as const) {
  // Regression: all writes on their way failed, and the reason was that Redis is away.
  test(`${kind}: a message above proto-max-bulk-len fails alone, with the reason`, async (t) => {
    await redis.config('SET', 'proto-max-bulk-len', '1048576');
    t.after(() => redis.config('SET', 'proto-max-bulk-len', '536870912'));
    const queue = await open(t, kind, 1, 'ingest');
    const message = (size: number) => [{ body: 'x'.repeat(size), target: 'a', stamps: '' }];
    const large = assert.rejects(queue.append(message(1_100_000)), /1100003 bytes: its proto-max-bulk-len/);
    const others = Array.from({ length: 20 }, () => queue.append(message(10)));
    await Promise.all([large, ...others]);
    assert.equal(queue.away, undefined);
    assert.equal(await queue.depth(), 20);
    await redis.config('SET', 'proto-max-bulk-len', '2097152');
    assert.equal(await queue.append(message(1_100_000)), 21);
  });
}
