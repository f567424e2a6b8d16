/** Redis undoes nothing of what fails half way, and whoever gets the error tries again: no message may multiply. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { claimed, idsOf } from '../test/entries.ts';
import { type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import type { Entry, MessageQueue, QueueKind } from './queue.ts';

const WITHIN_MS = 20_000;
const TRIES = 3;

let service: Service;
let url: string;
let redis: Redis;

before(async () => {
  ({ service, url } = await startRedis());
  redis = new Redis(url);
});
after(async () => {
  redis.disconnect();
  await service.remove();
});
beforeEach(() => redis.flushall());

/** Opens a queue as a user with all rights, except for these. */
async function open(t: TestContext, kind: QueueKind = 'stream'): Promise<MessageQueue> {
  await redis.acl('SETUSER', 'limited', 'reset', 'on', '>secret', '~*', '&*', '+@all');
  const queue = openQueue(kind, { url: url.replace(/\/\/.*@/, '//limited:secret@'), timeoutMs: WITHIN_MS });
  t.after(() => queue.close());
  await queue.whenReady(WITHIN_MS);
  await queue.join();
  return queue;
}
const forbid = (...rules: string[]) => redis.acl('SETUSER', 'limited', ...rules);

const messages = (...ids: string[]) =>
  ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a', stamps: '' }));
const part = ({ frames: [frame] }: Entry) => ({
  frame: frame as Buffer,
  deliveries: 1,
  suspect: false,
  reason: 'refused',
});
/** Tries again after an error, as relays do; resolves with the last error. */
async function insist(work: () => Promise<unknown>): Promise<string | undefined> {
  for (let i = 1; ; i++) {
    const error = await work().then(
      () => undefined,
      ({ message }: Error) => message,
    );
    if (error === undefined || i === TRIES) return error;
  }
}
const lengths = async () => [await redis.xlen('arrival:messages'), await redis.xlen('arrival:dead-letters')];

// Regression: the counter came last and failed, so the relay added the message again every 2 s.
const spoilt: [what: string, spoil: () => Promise<unknown>][] = [
  ['a text', () => redis.set('arrival:depth', 'foo')],
  ['a number that cannot change', () => redis.set('arrival:depth', '99999999999999999999')],
  ['a list', () => redis.multi().del('arrival:depth').lpush('arrival:depth', 'foo').exec()],
  ['nothing that the user may change', () => forbid('-incrby', '-del')],
];
for (const [what, spoil] of spoilt) {
  test(`with ${what} in the key of the counter, messages are split, buried, requeued and acknowledged once`, async (t) => {
    const queue = await open(t);
    await queue.append(messages('0', '1'));
    const [entry] = (await claimed(queue, 'one', 2)) as [Entry];
    await spoil();
    assert.equal(await insist(() => queue.split(entry, [part(entry)], true)), undefined);
    assert.deepEqual(await lengths(), [2, 0]);
    const [alone] = (await claimed(queue, 'one', 1)) as [Entry];
    assert.equal(await insist(() => queue.bury(alone, 5, 'nobody takes it')), undefined);
    assert.deepEqual(await lengths(), [1, 1]);
    const [[letter]] = (await redis.xrange('arrival:dead-letters', '-', '+')) as [[string, string[]]];
    assert.equal(await insist(() => queue.deadLetters.requeue([letter])), undefined);
    assert.deepEqual(await lengths(), [2, 0]);
    const [again] = (await claimed(queue, 'one', 1)) as [Entry];
    assert.deepEqual(idsOf([again]), ['0']);
    assert.equal(await insist(() => queue.acknowledge([entry, again])), undefined);
    assert.deepEqual(await lengths(), [0, 0]);
  });
}

for (const command of ['xadd', 'xack', 'xdel']) {
  test(`without the right to ${command.toUpperCase()} no message is buried or split, and the error names it`, async (t) => {
    const queue = await open(t);
    await queue.append(messages('0'));
    await queue.append(messages('1', '2'));
    const [one, pair] = (await claimed(queue, 'one', 3)) as [Entry, Entry];
    await forbid(`-${command}`);
    assert.match((await insist(() => queue.bury(one, 5, 'nobody takes it'))) ?? '', new RegExp(command, 'i'));
    assert.match(
      (await insist(() => queue.split(pair, [part(pair)], false))) ?? '',
      new RegExp(command, 'i'),
    );
    assert.deepEqual(await lengths(), [2, 0]);
    await forbid(`+${command}`);
    await queue.bury(one, 5, 'nobody takes it');
    await queue.split(pair, [part(pair)], false);
    assert.deepEqual(await lengths(), [1, 1]);
  });
}

// Regression: the consumer group lost the entry, which stayed in the queue: no relay would get it again.
test('without the right to XDEL no message is acknowledged, and the error names it', async (t) => {
  const queue = await open(t);
  await queue.append(messages('0'));
  const held = await claimed(queue, 'one', 1);
  const pending = async () => ((await redis.xpending('arrival:messages', 'relays')) as [number])[0];
  await forbid('-xdel');
  assert.match((await insist(() => queue.acknowledge(held))) ?? '', /xdel/i);
  assert.equal(await pending(), 1);
  await forbid('+xdel', '-xlen');
  await queue.acknowledge(held);
  assert.deepEqual([await pending(), ...(await lengths())], [0, 0, 0]);
});

for (const [kind, command] of [
  ['stream', 'xadd'],
  ['stream', 'xdel'],
  ['list', 'lpush'],
  ['list', 'xdel'],
] as const) {
  test(`${kind}: without the right to ${command.toUpperCase()} no dead letter is requeued`, async (t) => {
    const queue = await open(t, kind);
    const letter = await redis.xadd('arrival:dead-letters', '*', 'frame', 'a\n\n{}');
    await forbid(`-${command}`);
    const error = await insist(() => queue.deadLetters.requeue([letter as string]));
    assert.match(error ?? '', new RegExp(command, 'i'));
    assert.deepEqual([await queue.depth(), await queue.deadLetters.count()], [0, 1]);
  });
}

// Regression: Redis ran the commands one by one, so each message was answered 503, and delivered.
test('without the right to MULTI a message that was written is accepted, and no other one is written', async (t) => {
  const queue = await open(t);
  await forbid('-multi');
  assert.equal(await queue.append(messages('0', '1')), 2);
  for (let i = 0; i < TRIES; i++) await assert.rejects(queue.append(messages('2')), /multi/i);
  assert.equal(await queue.depth(), 2);
  await forbid('+multi');
  assert.equal(await queue.append(messages('3')), 3);
});

for (const command of ['exec', 'xadd', 'incrby', 'xlen']) {
  test(`without the right to ${command.toUpperCase()} no message is written, and the error names it`, async (t) => {
    const queue = await open(t);
    await forbid(`-${command}`);
    for (let i = 0; i < TRIES; i++)
      await assert.rejects(queue.append(messages('0', '1')), new RegExp(command, 'i'));
    assert.equal(await redis.xlen('arrival:messages'), 0);
  });
}
