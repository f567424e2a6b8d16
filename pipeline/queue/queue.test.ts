import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { eventually, type Service, startRedis } from '../test/services.ts';
import type { Connection } from './connection.ts';
import type { DeadLetter } from './dead-letters.ts';
import { decodeFrame } from './frame.ts';
import { openQueue } from './open.ts';
import { type Entry, messagesOf, type Queue, type QueueKind } from './queue.ts';
import { isTraced, Trace } from './trace.ts';

const MAIN = join(import.meta.dirname, '../stack/main.ts');
const STREAM = 'arrival:messages';
const KINDS: QueueKind[] = ['stream', 'list'];

let service: Service;
let url: string;
let redis: Redis;
const queues = new Map<QueueKind, Queue>();

before(async () => {
  ({ service, url } = await startRedis());
  redis = new Redis(url);
  for (const kind of KINDS) {
    const queue = openQueue(kind, { url, timeoutMs: 20_000 });
    queues.set(kind, queue);
    await queue.whenReady(20_000);
  }
});

after(async () => {
  for (const queue of queues.values()) queue.close();
  redis.disconnect();
  await service.remove();
});

beforeEach(async () => {
  await redis.flushall();
  for (const queue of queues.values()) await queue.join();
});

const queueOf = (kind: QueueKind) => queues.get(kind) as Queue;
const messages = (...ids: string[]) =>
  ids.map((id) => ({ body: JSON.stringify({ id }), target: 'a/b', stamps: '17,3' }));
const idsOf = (entries: readonly Entry[]) =>
  entries.flatMap(({ frames }) => frames.map((frame) => JSON.parse(decodeFrame(frame).body.toString()).id));
/** Claims until it has `count` messages. The size of a claim depends on earlier claims. */
const claimAll = async (queue: Queue, consumer: string, count: number) => {
  const all: Entry[] = [];
  while (messagesOf(all) < count) all.push(...(await queue.claim(consumer, count)).entries);
  return all;
};
/** Appends each message in its own write, and so in its own entry. */
const appendEach = async (queue: Queue, ...ids: string[]) => {
  for (const id of ids) await queue.append(messages(id));
};

for (const kind of KINDS) {
  test(`${kind}: messages are claimed once, in order, and removed when acknowledged`, async () => {
    const queue = queueOf(kind);
    assert.equal(await queue.append(messages('1', '2')), 2);
    assert.equal(await queue.append(messages('3')), 3);
    assert.equal(await queue.depth(), 3);
    const first = await queue.claim('one', kind === 'stream' ? 1 : 2);
    const second = await queue.claim('two', 1);
    assert.deepEqual([idsOf(first.entries), idsOf(second.entries)], [['1', '2'], ['3']]);
    assert.ok(first.entries.every(({ deliveries, suspect }) => deliveries === 1 && !suspect));
    await queue.acknowledge(first.entries);
    assert.equal(await queue.depth(), kind === 'stream' ? 1 : 0);
    await queue.acknowledge(second.entries);
    assert.equal(await queue.depth(), 0);
  });

  test(`${kind}: a dead letter is listed, and requeued unchanged`, async () => {
    const queue = queueOf(kind);
    await queue.append(messages('bad'));
    const { entries } = await queue.claim('one', 1);
    await queue.bury(entries[0] as Entry, 5, 'nobody takes it');
    assert.equal(await queue.depth(), 0);
    const letters: DeadLetter[] = [];
    for await (const found of queue.deadLetters.list()) letters.push(found);
    const { letter, buried, ...rest } = letters[0] as DeadLetter;
    assert.deepEqual(rest, { id: 'bad', target: 'a/b', reason: 'nobody takes it', deliveries: 5 });
    assert.ok(Math.abs(buried - (await queue.time()) / 1000) < 60_000);
    assert.deepEqual(await queue.deadLetters.requeue([letter, '1-1']), [letter]);
    assert.equal(await queue.deadLetters.count(), 0);
    assert.equal(await queue.depth(), 1);
    assert.deepEqual(idsOf((await queue.claim('two', 1)).entries), ['bad']);
  });
}

test('stream: only the entries of a dead relay are taken over, suspect from the second time on', async () => {
  const queue = queueOf('stream');
  await appendEach(queue, '1', '2');
  await claimAll(queue, 'dead', 2);
  await queue.append(messages('3'));
  await queue.claim('alive', 1);
  const held = async (consumer: string) =>
    ((await redis.xpending('arrival:messages', 'relays', '-', '+', 10, consumer)) as [string][]).map(
      ([id]) => id,
    );
  const dead = await held('dead');
  // The dead relay's two entries now look held for an hour.
  await redis.xclaim('arrival:messages', 'relays', 'dead', 0, ...dead, 'IDLE', 3_600_000, 'JUSTID');
  const first = await queue.recover('heir', 1_800_000, 1);
  const rest = await queue.recover('heir', 1_800_000, 10);
  assert.deepEqual([...idsOf(first.entries), ...idsOf(rest.entries)], ['1', '2']);
  for (const { deliveries, suspect } of [...first.entries, ...rest.entries]) {
    assert.deepEqual([deliveries, suspect], [2, false]);
  }
  await queue.attempt('heir', dead[0] as string, 4);
  await redis.xclaim('arrival:messages', 'relays', 'heir', 0, ...dead, 'IDLE', 3_600_000, 'JUSTID');
  const second = await queue.recover('third', 1_800_000, 10);
  assert.deepEqual(
    second.entries.map(({ deliveries, suspect }) => [deliveries, suspect]),
    [
      [4, true],
      [2, true],
    ],
  );
  assert.equal((await held('alive')).length, 1);
});

test('stream: split gives a message its own entry, with its attempts and reason', async () => {
  const queue = queueOf('stream');
  await queue.append(messages('1', 'bad', '3'));
  const [entry] = (await queue.claim('one', 3)).entries as [Entry];
  const bad = entry.frames[1] as Buffer;
  await queue.split(entry, [{ frame: bad, deliveries: 4, suspect: true, reason: 'nobody takes it' }], true);
  await queue.acknowledge([entry]);
  assert.equal(await queue.depth(), 1);
  const [alone] = (await queue.claim('one', 3)).entries as [Entry];
  assert.deepEqual(
    [idsOf([alone]), alone.deliveries, alone.suspect, alone.reason],
    [['bad'], 4, true, 'nobody takes it'],
  );
  await queue.bury(alone, 5, 'nobody took it');
  await queue.bury(alone, 5, 'nobody took it');
  const letters: (string | number | undefined)[] = [];
  for await (const { id, reason, deliveries } of queue.deadLetters.list())
    letters.push(id, reason, deliveries);
  assert.deepEqual(letters, ['bad', 'nobody took it', 5]);
  assert.equal(await queue.depth(), 0);
});

test('stream: splitting an entry twice neither loses nor duplicates its messages', async () => {
  const queue = queueOf('stream');
  await queue.append(messages('1', '2', '3'));
  const [entry] = (await queue.claim('one', 3)).entries as [Entry];
  const parts = entry.frames.map((frame) => ({ frame, deliveries: 2, suspect: true, reason: '' }));
  await queue.split(entry, parts, false);
  await queue.split(entry, parts, false);
  assert.equal(await queue.depth(), 3);
  const { entries } = await queue.claim('one', 100);
  assert.deepEqual([entries.length, idsOf(entries)], [3, ['1', '2', '3']]);
  await queue.acknowledge(entries);
  assert.equal(await queue.depth(), 0);
});

test('stream: a claim returns about as many messages as wanted, whatever entries hold', async () => {
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
test('stream: the number of shards is checked before the first message', async () => {
  await redis.set('arrival:shards', '8');
  const fresh = openQueue('stream', { url, timeoutMs: 20_000 });
  try {
    await eventually(() => fresh.ready, 'a connection');
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

test('stream: the depth stays correct when somebody deletes the stream', async () => {
  const queue = queueOf('stream');
  await queue.append(messages('1', '2', '3'));
  await redis.del(STREAM);
  assert.equal(await queue.depth(), 0);
  assert.equal(await queue.append(messages('4', '5')), 2);
  assert.equal(await queue.depth(), 2);
});

test('stream: a takeover keeps the entries that it got before Redis failed', async (t) => {
  const queue = queueOf('stream');
  const ids = Array.from({ length: 60 }, (_, i) => String(i));
  await appendEach(queue, ...ids);
  const entries = await claimAll(queue, 'dead', 60);
  // One old entry, and behind it more entries than a round reads.
  await redis.xclaim(STREAM, 'relays', 'dead', 0, entries[0]?.id as string, 'IDLE', 3_600_000, 'JUSTID');
  const { redis: connection } = queue as unknown as { redis: Connection };
  const recover = connection.recoverEntriesBuffer.bind(connection);
  let rounds = 0;
  t.mock.method(connection, 'recoverEntriesBuffer', (...args: Parameters<typeof recover>) =>
    rounds++ === 0 ? recover(...args) : Promise.reject(new Error('connection closed')),
  );
  assert.deepEqual(idsOf((await queue.recover('heir', 1_800_000, 2)).entries), ['0']);
  assert.equal(rounds, 2);
  await assert.rejects(queue.recover('heir', 1_800_000, 2), /connection closed/);
});

test('stream: an entry deleted while a relay holds it is reported', async () => {
  const queue = queueOf('stream');
  await appendEach(queue, '1', '2');
  const entries = await claimAll(queue, 'dead', 2);
  await redis.xdel('arrival:messages', entries[0]?.id as string);
  const claim = await queue.recover('heir', 0, 10);
  assert.deepEqual([claim.deleted, idsOf(claim.entries)], [1, ['2']]);
});

test('stream: entries of a lost reply are found again, and count as no attempt', async () => {
  const queue = queueOf('stream');
  await appendEach(queue, '1', '2', '3');
  const entries = await claimAll(queue, 'one', 3);
  const known = entries[0]?.id;
  const claim = await queue.recoverUnseen('one', 10, (id) => id === known);
  assert.deepEqual(idsOf(claim.entries), ['2', '3']);
  assert.ok(claim.entries.every(({ deliveries }) => deliveries === 1));
});

// Regression: a message that had killed three relays came back as untried, and took a whole burst along.
test('stream: taken-over entries of a lost reply keep their attempts and stay suspect', async () => {
  const queue = queueOf('stream');
  await appendEach(queue, 'new', 'recovered', 'killer');
  const entries = await claimAll(queue, 'one', 3);
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

test('list: signOff returns the messages of a relay to the front of the queue', async () => {
  const queue = queueOf('list');
  await queue.append(messages('1', '2', '3'));
  const { entries } = await queue.claim('one', 2);
  await queue.signOff('one', entries);
  assert.deepEqual(idsOf((await queue.claim('two', 3)).entries), ['1', '2', '3']);
});

test('interrupt ends a waiting claim', async () => {
  for (const kind of KINDS) {
    const queue = queueOf(kind);
    await queue.append(messages('1'));
    await queue.claim('one', 1);
    const waiting = queue.claim('one', 1);
    await queue.interrupt();
    assert.deepEqual((await waiting).entries, []);
  }
});

test('every component traces the same messages, and records their times by id', async () => {
  const chosen = Array.from({ length: 10 }, (_, i) => `r.1.${i}`).filter((id) => isTraced(id, 5));
  assert.deepEqual(chosen, ['r.1.0', 'r.1.5']);
  const others = Array.from({ length: 2000 }, (_, i) => `order-${i}x`).filter((id) => isTraced(id, 10));
  assert.ok(others.length > 100 && others.length < 300, `${others.length} of 2,000`);
  const trouble: string[] = [];
  let time = 100;
  const trace = new Trace({
    queue: queueOf('stream'),
    component: 'test',
    every: 5,
    now: () => time++,
    idKey: 'meta.id',
    onTrouble: (what) => trouble.push(what),
  });
  for (const id of ['r.1.4', 'r.1.5', 'r.1.10']) trace.note({ meta: { id } });
  for (const message of [null, 3, {}, { meta: null }, { id: 'r.1.5' }]) trace.note(message);
  trace.noteBody(Buffer.from('{"meta":{"id":"r.1.15"}}'), 7);
  trace.noteBody(Buffer.from('none'), 8);
  const written = async () => redis.lrange('arrival:trace:test', 0, -1);
  await eventually(async () => (await written()).length >= 3, 'the trace');
  assert.deepEqual(
    (await written()).map((entry) => JSON.parse(entry)),
    [
      { id: 'r.1.15', time: 7 },
      { id: 'r.1.10', time: 101 },
      { id: 'r.1.5', time: 100 },
    ],
  );
  assert.deepEqual(trouble, []);
});

test('npm run pipeline -- dead-letters: lists, requeues and drops, and reports errors', async () => {
  const queue = queueOf('stream');
  await appendEach(queue, 'one', 'two', 'three');
  for (const entry of await claimAll(queue, 'c', 3)) await queue.bury(entry, 1, 'refused');
  const runWith = async (own: Record<string, string>, ...args: string[]) => {
    const env = { ...process.env, REDIS_URL: url, NO_COLOR: '1', ...own };
    const child = promisify(execFile)(process.execPath, [MAIN, 'dead-letters', ...args], { env });
    const { stdout, stderr, code } = await child.then(
      (done) => ({ ...done, code: 0 }),
      (error: { stdout: string; stderr: string; code: number }) => error,
    );
    return { out: stdout.trim().split('\n'), err: stderr.trim(), code };
  };
  const run = (...args: string[]) => runWith({}, ...args);
  const [table, unknown, requeued] = await Promise.all([
    run(),
    run('drop', 'nobody'),
    run('requeue', 'two', '--json'),
  ]);
  assert.equal(table.code, 0);
  assert.match(table.out[0] as string, /^\d+-\d+ {2}one {2}a\/b {2}\d+ \w+ ago {2}1 attempt: refused$/);
  assert.deepEqual([unknown.code, unknown.err], [1, 'no dead letter: nobody']);
  assert.deepEqual([requeued.code, JSON.parse(requeued.out[0] as string).done.length], [0, 1]);
  assert.deepEqual(idsOf((await queue.claim('c', 1)).entries), ['two']);
  const [wrong, dropped] = await Promise.all([run('burn'), run('drop', '--all')]);
  assert.deepEqual(
    [wrong.code, wrong.err],
    [1, 'dead-letters: there is no "burn"; allowed: list, requeue, drop'],
  );
  assert.deepEqual([dropped.code, dropped.out], [0, ['2 dropped']]);
  assert.deepEqual((await run('list', '--json')).out, ['']);

  // Regression: it looked only for `id`, and printed an id unescaped.
  const body = JSON.stringify({ meta: { id: 'red\u001b[31m\u009b' } });
  await queue.append([{ body, target: 'a', stamps: '' }]);
  for (const entry of await claimAll(queue, 'c', 1)) await queue.bury(entry, 1, 'refused');
  const [elsewhere, printed] = await Promise.all([run(), runWith({ ID_KEY: 'meta.id' }, '--json')]);
  assert.match(elsewhere.out[0] ?? '', /\(no id\)/);
  assert.match(printed.out[0] ?? '', /"id":"red\\u001b\[31m\\u009b"/);
  const moved = await runWith({ ID_KEY: 'meta.id' }, 'drop', 'red\u001b[31m\u009b');
  assert.deepEqual([moved.code, moved.out], [0, ['1 dropped']]);
});
