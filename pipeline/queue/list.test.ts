import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { idsOf } from '../test/entries.ts';
import { type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import type { MessageQueue } from './queue.ts';

let service: Service;
let redis: Redis;
let queue: MessageQueue;

before(async () => {
  const started = await startRedis();
  service = started.service;
  redis = new Redis(started.url);
  queue = openQueue('list', { url: started.url, timeoutMs: 20_000 });
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
