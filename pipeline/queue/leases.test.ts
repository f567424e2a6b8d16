import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Redis } from 'ioredis';
import { claimed, framesOf } from '../test/entries.ts';
import { eventually, startRedis } from '../test/services.ts';
import { isCluster } from './connection.ts';
import { shareOf } from './leases.ts';
import { openQueue } from './open.ts';
import { type DeadLetter, type Entry, type MessageQueue, messagesOf } from './queue.ts';

const SHARDS = 4;
const TARGETS = Array.from({ length: 20 }, (_, i) => `user/${i}`);

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
const opened: MessageQueue[] = [];

before(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});

// A relay that stayed would renew its presence in the next test, under the same name.
afterEach(() => {
  for (const queue of opened.splice(0)) queue.close();
});

after(async () => {
  redis.disconnect();
  await server.service.remove();
});

async function open(
  shards: number,
  user: 'ingest' | 'relay' | 'operator' = 'relay',
  leaseMs = 30_000,
): Promise<MessageQueue> {
  const queue = openQueue('stream', { url: server.as(user), timeoutMs: 20_000, shards, leaseMs });
  opened.push(queue);
  await queue.whenReady(20_000);
  return queue;
}

const messages = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    body: JSON.stringify({ n: from + i }),
    target: TARGETS[(from + i) % TARGETS.length] as string,
    stamps: '',
  }));

/** Asserts that the messages of each target have the order in which they were appended. */
function assertOrder(entries: readonly Entry[]): void {
  for (const target of TARGETS) {
    const order = framesOf(entries).flatMap((one) =>
      one.target === target ? JSON.parse(String(one.body)).n : [],
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      target,
    );
  }
}

test('an address with several nodes is a cluster', () => {
  const url = 'redis://relay:pass@one:7001,two:7002/0';
  assert.deepEqual(
    [url, 'redis://one:7001', 'redis://a,b:c@one:7001'].map((address) => isCluster({ url: address })),
    [true, false, false],
  );
});

test('shards keep order within a target and dead letters, and signOff releases the leases', async () => {
  await redis.flushall();
  const [ingest, relay, operator] = [
    await open(SHARDS, 'ingest'),
    await open(SHARDS),
    await open(SHARDS, 'operator'),
  ];
  await relay.join();
  assert.equal(await ingest.append(messages(0, 100)), 100);
  assert.equal(await ingest.append(messages(100, 100)), 200);
  const entries = await claimed(relay, 'one', 200, 50);
  assert.equal(messagesOf(entries), 200);
  assert.equal(relay.shards, SHARDS);
  assertOrder(entries);
  const bad = entries[0] as Entry;
  const frame = bad.frames[0] as Buffer;
  await relay.split(bad, [{ frame, deliveries: 5, suspect: true, reason: '' }], true);
  await relay.acknowledge(entries);
  const [alone] = (await claimed(relay, 'one', 1)) as [Entry];
  await relay.bury(alone, 5, 'nobody takes it');
  assert.equal(await ingest.depth(), 0);
  const letters: DeadLetter[] = [];
  for await (const letter of operator.deadLetters.list()) letters.push(letter);
  assert.deepEqual(
    letters.map(({ target, reason }) => [target, reason]),
    [[framesOf([bad])[0]?.target, 'nobody takes it']],
  );
  assert.deepEqual(await operator.deadLetters.requeue([letters[0]?.letter as string, '99/1-1']), [
    letters[0]?.letter,
  ]);
  assert.equal(await operator.deadLetters.count(), 0);
  await ingest.append(messages(1000, 10));
  await claimed(relay, 'one', 1);
  await relay.interrupt();
  await relay.signOff('one', []);
  assert.equal(await redis.exists(...Array.from({ length: SHARDS }, (_, i) => `arrival:{${i}}:lease`)), 0);
});

test('relays divide the shards, and take those of a dead relay after its lease', async () => {
  await redis.flushall();
  const leaseMs = 1500;
  const [one, two] = [await open(SHARDS, 'relay', leaseMs), await open(SHARDS, 'relay', leaseMs)];
  await one.join();
  await eventually(
    async () => (await one.claim('one', 10)) && one.shards === SHARDS,
    'all shards with the one relay',
  );
  const each = async () => {
    await Promise.all([one.claim('one', 10), two.claim('two', 10)]);
    return one.shards === SHARDS / 2 && two.shards === SHARDS / 2;
  };
  await eventually(each, 'half of the shards with each');
  const holders = await Promise.all(
    Array.from({ length: SHARDS }, async (_, i) => (await redis.get(`arrival:{${i}}:lease`))?.split(' ')[0]),
  );
  assert.deepEqual(holders.toSorted(), ['one', 'one', 'two', 'two']);
  await (await open(SHARDS, 'ingest')).append(messages(0, 40));
  await eventually(
    async () => (await one.claim('one', 40)).entries.length > 0,
    'messages with the one relay',
  );
  one.close();
  const rest = new Set<string>();
  await eventually(async () => {
    const [fresh, recovered] = [await two.claim('two', 50), await two.recover('two', leaseMs, 50)];
    const entries = [...fresh.entries, ...recovered.entries];
    for (const { body } of framesOf(entries)) rest.add(String(body));
    if (entries.length > 0) await two.acknowledge(entries);
    return rest.size === 40;
  }, 'the messages of the dead relay');
  assert.equal(two.shards, SHARDS);
});

// Regression: two of three relays took all four shards, and the third one was never ready. An autoscaler's pods were not.
test('the shares of all relays are all shards, and nobody has none', () => {
  for (const shards of [1, 4, 8])
    for (let relays = 1; relays <= shards; relays++) {
      const shares = Array.from({ length: relays }, (_, before) => shareOf(shards, relays, before));
      assert.equal(
        shares.reduce((sum, share) => sum + share),
        shards,
      );
      assert.ok(Math.min(...shares) >= 1 && Math.max(...shares) - Math.min(...shares) <= 1);
    }
  assert.equal(shareOf(4, 9, 8), 1);
});

test('no relay is left without a shard while there are as many shards as relays', async () => {
  await redis.flushall();
  const names = ['one', 'two', 'three'];
  const relays = await Promise.all(names.map(() => open(SHARDS, 'relay', 3000)));
  for (const relay of relays) await relay.join();
  await eventually(async () => {
    await Promise.all(relays.map((relay, n) => relay.claim(names[n] as string, 1)));
    return String(relays.map((relay) => relay.shards).toSorted()) === '1,1,2';
  }, 'a shard for each relay, and all shards taken');
  for (const relay of relays) assert.equal(relay.problem, undefined);
  for (const [n, relay] of relays.entries()) await relay.signOff(names[n] as string, []);
});

test('the messages of a dead relay go before later ones of the same target', async () => {
  await redis.flushall();
  const leaseMs = 1000;
  const [ingest, one, two] = [
    await open(SHARDS, 'ingest'),
    await open(SHARDS, 'relay', leaseMs),
    await open(SHARDS, 'relay', leaseMs),
  ];
  await one.join();
  // Entries of few messages, so that one claim does not get all.
  for (let from = 0; from < 400; from += 10) await ingest.append(messages(from, 10));
  const had = await claimed(one, 'one', 400, 50);
  await one.acknowledge(had.slice(0, 5));
  one.close();
  for (let from = 400; from < 500; from += 10) await ingest.append(messages(from, 10));
  const left = 500 - messagesOf(had.slice(0, 5));
  const entries = await claimed(two, 'two', left, 50);
  assert.equal(messagesOf(entries), left);
  assertOrder(entries);
  // The dead relay may have read some of the later messages too.
  const recovered = entries.filter((entry) => entry.recovered);
  assert.ok(
    messagesOf(recovered) >= left - 100 && messagesOf(recovered) < left,
    `${messagesOf(recovered)} of ${left}`,
  );
  assert.ok(recovered.every(({ deliveries, suspect }) => deliveries === 2 && !suspect));
});

// Regression: only the first look counted, so a process whose Redis had got another queue wrote where nobody read.
test('the number of shards is checked again when Redis has been away', async () => {
  await redis.flushall();
  const queue = await open(SHARDS, 'ingest');
  await redis.set('arrival:shards', SHARDS + 1);
  await assert.rejects(queue.whenReady(20_000), /its queue has 5 shards/);
});

test('a process with another number of shards is refused', async () => {
  await redis.flushall();
  await (await open(SHARDS)).join();
  const why = /its queue has 4 shards; allowed is STREAM_SHARDS=4, not/;
  await assert.rejects(open(SHARDS + 1, 'ingest'), why);
  await assert.rejects(open(1, 'ingest'), why);
  assert.throws(
    () => openQueue('list', { url: server.url, timeoutMs: 1, shards: 2 }),
    /STREAM_SHARDS is 2, and QUEUE is list; allowed: 1, or QUEUE=stream/,
  );
});
