import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { idsOf } from '../test/entries.ts';
import { openLink } from '../test/link.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import type { MessageQueue } from './queue.ts';

let service: Service;
let url: string;
let redis: Redis;
let queue: MessageQueue;

before(async () => {
  const started = await startRedis();
  ({ service, url } = started);
  redis = new Redis(url);
  queue = openQueue('list', { url, timeoutMs: 20_000 });
  await queue.whenReady(20_000);
});

after(async () => {
  queue.close();
  redis.disconnect();
  await service.remove();
});

beforeEach(() => redis.flushall());

const messages = (...ids: string[]) =>
  ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a/b', stamps: '17,3' }));

test('signOff returns the messages of a relay to the front of the queue', async () => {
  await queue.append(messages('1', '2', '3'));
  const { entries } = await queue.claim('one', 2);
  await queue.signOff('one', entries);
  assert.deepEqual(idsOf((await queue.claim('two', 3)).entries), ['1', '2', '3']);
});

// Regression: more messages than a function takes arguments were a RangeError, and none went back.
test('signOff returns 130,000 messages', async () => {
  const count = 130_000;
  const frames = Array.from({ length: count }, (_, i) => Buffer.from(`a\n\n${i}`));
  const entries = frames.map((frame) => ({
    id: '',
    frames: [frame],
    deliveries: 1,
    suspect: false,
    reason: '',
  }));
  let back = 0;
  await queue.signOff('one', entries, (some, how) => {
    if (how === 'back') back += some.length;
  });
  assert.deepEqual([back, await queue.depth()], [count, count]);
  assert.deepEqual(await redis.lrangeBuffer('arrival:list', -2, -1), [frames[1], frames[0]]);
  assert.deepEqual(await redis.lindexBuffer('arrival:list', 0), frames.at(-1));
});

/** Claims until it has so many messages. Those of answers that were lost come first. */
async function idsUntil(reader: MessageQueue, count: number, each = 2): Promise<string[]> {
  const ids: string[] = [];
  await eventually(async () => {
    ids.push(...idsOf((await reader.claim('one', each)).entries));
    return ids.length >= count;
  }, `${count} messages`);
  return ids;
}

// Regression: Redis had given them away, and they were lost in silence.
for (const [waits, each] of [
  [true, 2],
  [true, 1],
  [false, 2],
  [false, 1],
] as const) {
  test(`messages of a lost answer come with the next claim, once, ${each} at a time, ${waits ? 'having waited' : 'as they came'}`, async (t) => {
    const link = await openLink(t, url);
    const reader = openQueue('list', { url: link.url, timeoutMs: 20_000 });
    t.after(() => reader.close());
    await reader.whenReady(20_000);
    await queue.append(messages('1'));
    assert.deepEqual(await idsUntil(reader, 1, each), ['1']);
    if (waits) await queue.append(messages('2', '3', '4'));
    link.mute = waits;
    const claim = reader.claim('one', each);
    const fails = assert.rejects(claim, (error: Error) => reader.isDisconnection(error));
    if (!waits) {
      await eventually(
        async () => /cmd=blmove/.test(String(await redis.client('LIST'))),
        'a claim that waits',
      );
      link.mute = true;
      await queue.append(messages('2', '3', '4'));
    }
    const given = async () => (await redis.llen('arrival:list')) < 3;
    await eventually(given, 'messages on their way');
    link.cut();
    await fails;
    link.mute = false;
    await eventually(() => reader.away === undefined, 'a connection');
    assert.deepEqual(await idsUntil(reader, 3, each), ['2', '3', '4']);
    assert.deepEqual((await reader.claim('one', each)).entries, []);
  });
}

test('signOff returns the messages of a lost answer before later ones', async (t) => {
  const link = await openLink(t, url);
  const reader = openQueue('list', { url: link.url, timeoutMs: 20_000 });
  t.after(() => reader.close());
  await reader.whenReady(20_000);
  await queue.append(messages('1', '2', '3', '4'));
  const { entries } = await reader.claim('one', 1);
  link.mute = true;
  const fails = assert.rejects(reader.claim('one', 2));
  await eventually(async () => (await redis.llen('arrival:list')) === 1, 'messages on their way');
  link.cut();
  await fails;
  link.mute = false;
  await eventually(() => reader.away === undefined, 'a connection');
  await reader.signOff('one', entries);
  const left = (await redis.lrange('arrival:list', 0, -1)).map((frame) => /"id":"(\d)"/.exec(frame)?.[1]);
  assert.deepEqual(left.toReversed(), ['1', '2', '3', '4']);
});

// Regression: the second rejection was nobody's, and ended the relay before it had said what is lost.
test('signOff rejects once while Redis is away, though an answer was lost', async (t) => {
  const link = await openLink(t, url);
  const reader = openQueue('list', { url: link.url, timeoutMs: 20_000 });
  t.after(() => reader.close());
  await reader.whenReady(20_000);
  await queue.append(messages('1', '2'));
  const { entries } = await reader.claim('one', 1);
  link.mute = true;
  const fails = assert.rejects(reader.claim('one', 2));
  await eventually(async () => (await redis.llen('arrival:list')) === 0, 'messages on their way');
  link.cut();
  await fails;
  await eventually(() => reader.away !== undefined, 'an outage');
  await assert.rejects(reader.signOff('one', entries));
  await new Promise(setImmediate);
});

// Regression: a relay whose broker was away for as long as they stay claimed nothing meanwhile, and lost them in silence.
test('messages of a lost answer stay as long as their relay lives, though it claims nothing', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const link = await openLink(t, url);
  const reader = openQueue('list', { url: link.url, timeoutMs: 20_000 });
  t.after(() => reader.close());
  await reader.whenReady(20_000);
  await queue.append(messages('0'));
  await reader.claim('one', 2);
  await queue.append(messages('1', '2'));
  link.mute = true;
  const fails = assert.rejects(reader.claim('one', 2));
  await eventually(async () => (await redis.llen('arrival:list')) === 0, 'messages on their way');
  link.cut();
  await fails;
  link.mute = false;
  await eventually(() => reader.away === undefined, 'a connection');
  const keys = ['arrival:list:one:taken', 'arrival:list:one:seen'];
  for (const key of keys) await redis.pexpire(key, 100_000);
  t.mock.timers.tick(60_000);
  await eventually(
    async () => (await Promise.all(keys.map((key) => redis.pttl(key)))).every((ms) => ms > 500_000),
    'keys that stay',
  );
  // A claim whose answer is lost again renews them too.
  await redis.pexpire('arrival:list:one:taken', 100_000);
  assert.deepEqual(idsOf((await reader.claim('one', 2)).entries), ['1', '2']);
  assert.ok((await redis.pttl('arrival:list:one:taken')) > 500_000);
});
