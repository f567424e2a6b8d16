import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import type { Problem } from '../common/readiness.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { freePort } from '../stack/ports.ts';
import { type IngestResponse, type Settings, TestIngest } from '../test/ingest.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';

const message = { id: 'r.1.1', source: 'test', target: 'user/17', payload: 'x' };
/** Long enough that no answer is late on a busy machine. */
const PATIENT_MS = 60_000;
const HASTY_MS = 1000;

let url: string;
let service: Service;
let redis: Redis;
let queue: MessageQueue;
let troubles: (string | undefined)[];
let ingest: TestIngest;

before(async () => {
  ({ url, service } = await startRedis());
  redis = new Redis(url);
  redis.on('error', () => {});
  queue = openQueue('stream', { url, timeoutMs: PATIENT_MS });
  await queue.whenReady(15_000);
  ingest = await TestIngest.start({ queue, onTrouble: (reason) => troubles.push(reason) });
});

beforeEach(async () => {
  troubles = [];
  await redis.del('arrival:messages', 'arrival:depth');
});

after(async () => {
  await ingest.close();
  queue.close();
  redis.disconnect();
  await service.remove();
});

const post = (to = ingest) => to.post('/messages', message);
const depth = () => queue.depth();
const accepted = async () => assert.equal((await post()).status, 202);

function unavailable(answer: IngestResponse, says: RegExp): void {
  assert.equal(answer.status, 503);
  assert.match(answer.headers.get('retry-after') ?? '', /^([1-9]|10)$/);
  assert.match(answer.body.error ?? '', says);
}

/** What is the same for all ingests takes none of them from its Service: clients would find nobody. */
async function staysReady(of: TestIngest, says: RegExp): Promise<void> {
  const { status, problems } = await of.readiness();
  assert.equal(status, 200);
  assert.equal(problems[0]?.kind, 'shared');
  assert.match(problems[0]?.problem ?? '', says);
}

async function limited(t: { after: (f: () => unknown) => void }, settings: Omit<Settings, 'queue'>) {
  const small = await TestIngest.start({ queue, ...settings });
  t.after(() => small.close());
  return small;
}

test('a backlog at its limit is answered with 503 until the queue is shorter', async (t) => {
  const small = await limited(t, { backlog: 3 });
  for (let i = 0; i < 3; i++) assert.equal((await post(small)).status, 202);
  unavailable(await post(small), /^a backlog of 3 messages reaches the limit of 3$/);
  await staysReady(small, /^a backlog of 3 messages/);
  await queue.join();
  await queue.acknowledge((await queue.claim('relay', 1)).entries);
  await eventually(async () => (await small.readiness()).problems.length === 0, 'room to be noticed');
  unavailable(await small.post('/messages/batch', [message, message]), /backlog/);
  assert.equal((await post(small)).status, 202);
  assert.equal(await depth(), 3);
});

// Regression: a client that waits for each answer filled the queue. p99 was 154 ms with full cores.
test('a deep queue delays answers, each for 0.1 s at most', async (t) => {
  const small = await limited(t, { throttle: 3 });
  for (let i = 0; i < 2; i++) assert.equal((await post(small)).status, 202);
  assert.equal(small.counters.throttled, 0);
  const third = post(small);
  await eventually(() => small.counters.throttled === 1, 'an answer that is held');
  assert.equal(small.counters.accepted, 3, 'Redis has the message');
  assert.deepEqual((await third).body, { accepted: 1 }, 'it is answered although nothing drains the queue');
  assert.equal(await depth(), 3);
  assert.equal(small.counters.open, 0);
});

test('open requests and held bytes are limited', async (t) => {
  for (const settings of [{ requests: 2 }, { bytes: 250 }]) {
    const small = await limited(t, settings);
    const half = () => small.open(small.head('content-length: 200'), ' '.repeat(110));
    const connections = [half(), half()];
    await eventually(() => small.counters.open === 2, 'two open requests');
    unavailable(await post(small), /^2 requests are open|^the bodies of open requests reach .* 250 bytes/);
    assert.equal(await small.get('/livez'), 200);
    for (const connection of connections) connection.destroy();
    await eventually(async () => (await post(small)).status === 202, 'room');
    assert.equal(small.counters.held_bytes, 0);
  }
});

// Regression: sixteen slow bodies that announced 1 MiB took the memory from everybody for 30 s.
test('a body counts as its bytes come, not as announced', async (t) => {
  const small = await limited(t, { bytes: 16_777_216 });
  const slow = Array.from({ length: 16 }, () => small.open(small.head('content-length: 1048576'), '{"id":'));
  await eventually(() => small.counters.open === 16, 'sixteen open requests');
  assert.equal((await post(small)).status, 202);
  assert.ok(small.counters.held_bytes < 1000, `${small.counters.held_bytes} bytes`);
  for (const connection of slow) connection.destroy();
  await eventually(() => small.counters.held_bytes === 0, 'nothing to be held');
});

test('the limit of held bytes applies to chunked bodies', async (t) => {
  const small = await limited(t, { bytes: 100 });
  const chunk = `64\r\n${' '.repeat(100)}\r\n`;
  const answer = await small.open(small.head('transfer-encoding: chunked'), chunk, chunk).closed;
  assert.match(answer, /^HTTP\/1.1 503 [\s\S]*retry-after: 1/);
  await eventually(() => small.counters.held_bytes === 0, 'nothing to be held');
});

test('a connection above the limit is closed', async (t) => {
  const small = await limited(t, { connections: 2 });
  const connections = [small.open('GET'), small.open('GET')];
  const two = () =>
    new Promise((resolve) => small.app.server.getConnections((_error, count) => resolve(count === 2)));
  await eventually(two, 'two connections');
  assert.equal(await small.open('GET').closed, '');
  for (const connection of connections) connection.destroy();
});

type Step = () => Promise<unknown>;
const refusals: [name: string, begin: Step, end: Step, says: RegExp, kind: Problem['kind']][] = [
  [
    'is full',
    () => redis.config('SET', 'maxmemory', '1'),
    () => redis.config('SET', 'maxmemory', '0'),
    /Redis is full/,
    'shared',
  ],
  [
    'is a replica',
    () => redis.replicaof('127.0.0.1', 1),
    () => redis.replicaof('NO', 'ONE'),
    /Redis is a read-only replica/,
    'shared',
  ],
  [
    'forbids it',
    () => redis.call('ACL', 'SETUSER', 'default', '-xadd'),
    () => redis.call('ACL', 'SETUSER', 'default', '+@all'),
    /Redis does not allow it/,
    'misconfigured',
  ],
];
for (const [name, begin, end, says, kind] of refusals) {
  test(`Redis ${name}: the ingest answers 503, names it at /readyz, logs it once and recovers`, async () => {
    await accepted();
    await begin();
    unavailable(await post(), says);
    unavailable(await post(), says);
    if (kind === 'shared') await staysReady(ingest, says);
    else assert.equal((await ingest.readiness()).status, 503);
    assert.equal((await ingest.readiness()).problems[0]?.kind, kind);
    assert.equal(await ingest.get('/livez'), 200);
    await eventually(
      async () => (await depth().catch(() => undefined)) === 1,
      'the message that was accepted',
    );
    assert.equal(troubles.length, 1);
    await end();
    await eventually(async () => (await post()).status === 202, 'a recovery');
    assert.deepEqual(troubles.slice(1), [undefined]);
    assert.deepEqual(await ingest.readiness(), { status: 200, problems: [] });
  });
}

test('after a failure one write probes Redis, and the others are refused at once', async () => {
  await redis.config('SET', 'maxmemory', '1');
  unavailable(await post(), /Redis is full/);
  await redis.config('SET', 'maxmemory', '0');
  await redis.call('CLIENT', 'PAUSE', PATIENT_MS, 'WRITE');
  let isOver = false;
  const probe = post().finally(() => {
    isOver = true;
  });
  await eventually(() => ingest.counters.unanswered === 1, 'the probing write');
  for (let i = 0; i < 10; i++) unavailable(await post(), /Redis is full/);
  assert.ok(!isOver);
  await redis.call('CLIENT', 'UNPAUSE');
  assert.equal((await probe).status, 202);
  await accepted();
  assert.equal(await depth(), 2);
});

test('Redis hangs: 503 at the deadline, then at once, until Redis recovers', async (t) => {
  const hasty = openQueue('stream', { url, timeoutMs: HASTY_MS });
  await hasty.whenReady(PATIENT_MS);
  const other = await TestIngest.start({ queue: hasty });
  t.after(async () => {
    await other.close();
    hasty.close();
  });
  service.signal('SIGSTOP');
  const answers = await Promise.all([post(other), post(other)]);
  for (const answer of answers) unavailable(answer, /^Redis/);
  const appended = t.mock.method(hasty, 'append');
  for (let i = 0; i < 21; i++) unavailable(await post(other), /^Redis/);
  assert.equal(appended.mock.callCount(), 0, 'none of them waits for Redis');
  await staysReady(other, /^Redis/);
  assert.equal(other.counters.unanswered, 0);
  service.signal('SIGCONT');
  await eventually(async () => (await post(other)).status === 202, 'a recovery');
});

// Regression: all ingests left their Service at once, and clients had "connection refused" for 21 s.
test('Redis is killed: the ingest answers 503, stays ready, and loses no accepted message', async () => {
  await redis.del('arrival:messages', 'arrival:depth');
  await accepted();
  // On a busy disk Redis delays the write of acknowledged commands to its log, for two seconds at most.
  const written = async () => /aof_buffer_length:0\b/.test(await redis.info('persistence'));
  await eventually(written, 'a log that has the message');
  service.signal('SIGKILL');
  await eventually(() => queue.away !== undefined, 'the loss to be noticed');
  unavailable(await post(), /^Redis is away/);
  assert.equal(await ingest.get('/livez'), 200);
  await eventually(() => /ECONNREFUSED/.test(queue.away?.problem ?? ''), 'the reason');
  await staysReady(ingest, /^Redis is away: connect ECONNREFUSED/);
  await service.start();
  await eventually(async () => (await post()).status === 202, 'a recovery');
  assert.equal(await depth(), 2);
});

test('an ingest that has never reached Redis is starting: a roll-out with a wrong address ends there', async (t) => {
  const nobody = openQueue('stream', { url: `redis://127.0.0.1:${await freePort()}`, timeoutMs: HASTY_MS });
  const lost = await TestIngest.start({ queue: nobody });
  t.after(async () => {
    await lost.close();
    nobody.close();
  });
  await eventually(() => nobody.away?.problem !== 'Redis is away', 'the reason');
  unavailable(await post(lost), /^Redis is away: connect ECONNREFUSED/);
  const { status, problems } = await lost.readiness();
  assert.deepEqual([status, problems.map(({ kind }) => kind)], [503, ['starting']]);
});

test('a shard that takes no messages is named, and refuses only its own', async (t) => {
  const options = { url, timeoutMs: PATIENT_MS, shards: 2, prefix: 'two' };
  const sharded = openQueue('stream', options);
  await sharded.whenReady(PATIENT_MS);
  const said: (string | undefined)[] = [];
  const other = await TestIngest.start({ queue: sharded, onTrouble: (reason) => said.push(reason) });
  t.after(async () => {
    await other.close();
    sharded.close();
  });
  const targets = ['a', 'b', 'c', 'd'];
  const own = (target: string) => sharded.shardFor(target) === 1;
  await redis.set('two:{1}:messages', 'another type');
  for (let round = 0; round < 2; round++) {
    for (const target of targets) {
      const answer = await other.post('/messages', { ...message, target });
      if (own(target))
        unavailable(answer, /^shard 1: Redis did not take it: a key of ours holds something else/);
      else assert.equal(answer.status, 202);
    }
  }
  assert.ok(targets.some(own) && !targets.every(own));
  const { problems } = await other.readiness();
  assert.match(problems[0]?.problem ?? '', /^shard 1: /);
  assert.equal(said.length, 1);
  await redis.del('two:{1}:messages');
  for (const target of targets)
    assert.equal((await other.post('/messages', { ...message, target })).status, 202);
  assert.deepEqual(said.slice(1), [undefined]);
});
