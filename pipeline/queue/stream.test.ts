import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { claimed, idsOf } from '../test/entries.ts';
import { WallClock } from '../test/faults/wall-clock.ts';
import { openLink } from '../test/link.ts';
import { eventually, HERE, type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import { type Entry, type MessageQueue, messagesOf } from './queue.ts';

const STREAM = 'arrival:messages';

let service: Service;
let url: string;
let redis: Redis;
let queue: MessageQueue;

before(async () => {
  ({ service, url } = await startRedis());
  redis = new Redis(url);
  queue = openQueue('stream', { url, timeoutMs: 20_000 });
  await queue.whenReady(20_000);
});

after(async () => {
  queue.close();
  redis.disconnect();
  await service.remove();
});

beforeEach(async () => {
  await redis.flushall();
  await queue.join();
});

const messages = (...ids: string[]) =>
  ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a/b', stamps: '17,3' }));
/** A queue that has claimed nothing, so it does not know how many messages an entry has. */
const fresh = async (t: TestContext, at = url) => {
  const queue = openQueue('stream', { url: at, timeoutMs: 20_000 });
  t.after(() => queue.close());
  await queue.whenReady(20_000);
  return queue;
};
/**
 * Asks for `count` messages that nobody renews, until it has them, or `enough`.
 * @param renew what living relays do between two looks
 */
const takeOver = async (
  queue: MessageQueue,
  consumer: string,
  count: number,
  renew = async () => {},
  enough = count,
): Promise<Entry[]> => {
  const all: Entry[] = [];
  await eventually(async () => {
    await renew();
    all.push(...(await queue.recover(consumer, 200, count - messagesOf(all))).entries);
    return messagesOf(all) >= enough;
  }, `${enough} messages of dead relays`);
  return all;
};
/** Appends each message in its own write, and so in its own entry. */
const appendEach = async (queue: MessageQueue, ...ids: string[]) => {
  for (const id of ids) await queue.append(messages(id));
};

/** How often Redis ran each command meanwhile, within scripts too. */
async function commandsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  await redis.config('RESETSTAT');
  await work();
  const rows = [...(await redis.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
  const counts = rows.map(([, name = '', calls]) => [name, Number(calls)]);
  return Object.fromEntries(counts.filter(([name]) => !/^(config|info)/.test(String(name))));
}

test('one shard costs one transaction for a write, one read for a claim, and one script for an acknowledgement', async (t) => {
  const queue = await fresh(t);
  await queue.append(messages('0'));
  await queue.acknowledge(await claimed(queue, 'one', 1));
  assert.deepEqual(await commandsOf(() => queue.append(messages('1', '2'))), {
    multi: 1,
    xadd: 1,
    incrby: 1,
    xlen: 1,
    exec: 1,
  });
  let entries: Entry[] = [];
  const claim = async () => {
    ({ entries } = await queue.claim('one', 2));
  };
  assert.deepEqual(await commandsOf(claim), { xreadgroup: 1 });
  const acknowledge = () => queue.acknowledge(entries);
  assert.deepEqual(await commandsOf(acknowledge), { evalsha: 1, xack: 1, xdel: 1, xlen: 1, del: 1 });
});

test('a claim returns about as many messages as wanted, whatever entries hold', async () => {
  const fresh = openQueue('stream', { url, timeoutMs: 20_000 });
  try {
    await fresh.whenReady(20_000);
    const ids = Array.from({ length: 640 }, (_, i) => String(i));
    await fresh.append(messages(...ids));
    const { entries } = await fresh.claim('one', 100);
    assert.equal(messagesOf(entries), 128);
  } finally {
    fresh.close();
  }
});

// Regression: an ingest that started before its Redis answered 202, and wrote where no relay reads.
test('the number of shards is checked before the first message', async () => {
  await redis.set('arrival:shards', '8');
  const fresh = openQueue('stream', { url, timeoutMs: 20_000 });
  try {
    await eventually(() => fresh.away === undefined, 'a connection');
    const wrongShards = /its queue has 8 shards; allowed is STREAM_SHARDS=8, not 1/;
    await assert.rejects(fresh.append(messages('1')), wrongShards);
    await assert.rejects(fresh.claim('one', 1), wrongShards);
    assert.equal(await redis.xlen(STREAM), 0);
    await redis.del('arrival:shards');
    assert.equal(await fresh.append(messages('1')), 1);
  } finally {
    fresh.close();
  }
});

test('the depth stays correct when somebody deletes the stream', async () => {
  await queue.append(messages('1', '2', '3'));
  await redis.del(STREAM);
  assert.equal(await queue.depth(), 0);
  assert.equal(await queue.append(messages('4', '5')), 2);
  assert.equal(await queue.depth(), 2);
});

test('a takeover keeps the entries that it got before Redis failed', async (t) => {
  const queue = await fresh(t);
  const ids = Array.from({ length: 60 }, (_, i) => String(i));
  await appendEach(queue, ...ids);
  const entries = await claimed(queue, 'dead', 60);
  const link = await openLink(t, url);
  const heir = await fresh(t, link.url);
  // A queue that has claimed nothing takes one entry in each round.
  link.breaksAt = (bytes) => bytes.includes(entries[1]?.id as string);
  assert.deepEqual(idsOf(await takeOver(heir, 'heir', 2, undefined, 1)), ['0']);
  await assert.rejects(takeOver(heir, 'heir', 2), (error: Error) => heir.isDisconnection(error));
});

test('an entry deleted while a relay holds it is reported', async () => {
  await appendEach(queue, '1', '2');
  const entries = await claimed(queue, 'dead', 2);
  await redis.xdel('arrival:messages', entries[0]?.id as string);
  const claim = await queue.recover('heir', 0, 10);
  assert.deepEqual([claim.deleted, idsOf(claim.entries)], [1, ['2']]);
});

// Regression: INCRBY -0 is an error, so the relay repeated it every 100 ms, and SIGTERM waited its whole grace.
test('entries that are acknowledged twice are acknowledged', async () => {
  await appendEach(queue, '1', '2', '3');
  const entries = await claimed(queue, 'one', 2);
  const others = entries.slice(0, 2);
  await queue.acknowledge(others);
  await queue.acknowledge(others);
  await queue.acknowledge(others.slice(0, 1));
  assert.equal(await queue.depth(), 1);
});

// Regression: the ingest answered 503 though the messages were queued.
test('a counter that cannot count does not reject messages that are in the queue', async () => {
  let entries = 0;
  for (const wrong of ['many', String(2n ** 63n - 1n), String(2n ** 62n), '5000000', '-7']) {
    await redis.set('arrival:depth', wrong);
    const depths = [await queue.append(messages('1', '2')), await queue.depth()];
    entries++;
    // An entry holds 64 messages at most: a larger depth would make the ingest answer 503.
    for (const depth of depths) assert.ok(depth >= entries && depth <= 64 * entries, `${wrong}: ${depths}`);
  }
  await redis.del('arrival:depth');
  await redis.lpush('arrival:depth', 'a list');
  await assert.rejects(queue.depth(), /WRONGTYPE/);
  assert.ok((await queue.append(messages('3'))) > 0);
  assert.equal(messagesOf(await claimed(queue, 'one', 11)), 11);
});

test('the consumer of a relay that is gone is removed, unless it holds something', async (t) => {
  const queue = await fresh(t);
  await appendEach(queue, '1');
  await queue.claim('holds', 1);
  for (const consumer of ['gone', 'one']) await redis.xgroup('CREATECONSUMER', STREAM, 'relays', consumer);
  await sleep(2); // two idle times of 0 ms: a consumer that has just been seen
  await queue.recover('one', 0, 0);
  const left = (await redis.xinfo('CONSUMERS', STREAM, 'relays')) as [string, string][];
  assert.deepEqual(
    left.map(([, name]) => name),
    ['holds', 'one'],
  );
});

test('entries of a lost reply are found again, and count as no attempt', async () => {
  await appendEach(queue, '1', '2', '3');
  const entries = await claimed(queue, 'one', 3);
  const known = entries[0]?.id;
  const claim = await queue.recoverUnseen('one', 10, (id) => id === known);
  assert.deepEqual(idsOf(claim.entries), ['2', '3']);
  assert.ok(claim.entries.every(({ deliveries }) => deliveries === 1));
});

// Regression: a message that had killed three relays came back as untried, and took a whole burst along.
test('taken-over entries of a lost reply keep their attempts and stay suspect', async () => {
  await appendEach(queue, 'new', 'recovered', 'killer');
  const entries = await claimed(queue, 'one', 3);
  for (const [n, deliveries] of [1, 2, 4].entries())
    await queue.attempt('one', entries[n]?.id as string, deliveries);
  const claim = await queue.recoverUnseen('one', 10, () => false);
  assert.deepEqual(
    claim.entries.map(({ deliveries, suspect, recovered }) => [deliveries, suspect, recovered]),
    [
      [1, false, false],
      [2, false, true],
      [4, true, true],
    ],
  );
  const rows = (await redis.xpending(STREAM, 'relays', '-', '+', 10)) as [string, string, number, number][];
  assert.deepEqual(
    rows.map(([, , , counter]) => counter),
    [1, 2, 4],
  );
});

// Redis' clock steps: no relay takes what a living one holds, and a dead one's messages wait for one lease.
const LEASE_MS = 400;
const skip = spawnSync('cc', ['--version']).status === 0 ? false : 'there is no C compiler (cc)';

/** A Redis whose clock can step, and a message that the relay `living` holds. */
async function held(t: TestContext) {
  const clock = await WallClock.make();
  t.after(() => clock.remove());
  const within = ['env', ...Object.entries(clock.environment).map(([name, value]) => `${name}=${value}`)];
  const server = await startRedis(undefined, { ...HERE, within });
  t.after(() => server.service.remove());
  const queue = openQueue('stream', { url: server.url, timeoutMs: 20_000 });
  t.after(() => queue.close());
  await queue.whenReady(20_000);
  await queue.append([{ body: '{"id":"1"}', target: 'a', stamps: '' }]);
  const { entries } = await queue.claim('living', 1);
  const ids = entries.map(({ id }) => id);
  const look = () => queue.recover('heir', LEASE_MS, 1);
  const renew = () => queue.renew('living', ids);
  return { clock, queue, look, renew };
}

test('entries that a relay claims again are not taken from it', { skip }, async (t) => {
  const { queue, look } = await held(t);
  const since = performance.now();
  while (performance.now() - since < 4 * LEASE_MS) {
    assert.equal(messagesOf((await queue.recoverUnseen('living', 1, () => false)).entries), 1);
    assert.deepEqual((await look()).entries, []);
  }
  await eventually(async () => messagesOf((await look()).entries) === 1, 'what is claimed no more');
});

const HOUR = 3600;
// Regression: a delivery in the future had an idle time of 0, again and again, so no renewal showed.
for (const [name, ofRenewal, ofLook] of [
  ['ahead at each renewal, and back at each look', HOUR, 0],
  ['back at each renewal, and ahead at each look', 0, HOUR],
] as const) {
  test(`a clock that is ${name} takes nothing from a living relay`, { skip }, async (t) => {
    const { clock, look, renew } = await held(t);
    const since = performance.now();
    while (performance.now() - since < 4 * LEASE_MS) {
      clock.set(ofRenewal);
      await renew();
      clock.set(ofLook);
      assert.deepEqual((await look()).entries, []);
    }
    await eventually(async () => messagesOf((await look()).entries) === 1, 'what is renewed no more');
  });
}
