import assert from 'node:assert/strict';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { freePort } from '../stack/ports.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import { Store } from './store.ts';
import { isTraced, TraceList } from './trace-list.ts';

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

async function open(t: TestContext, at = url): Promise<Store> {
  const store = new Store({ url: at, timeoutMs: 20_000 });
  t.after(() => store.close());
  await eventually(() => store.ready, 'a connection');
  return store;
}

// Regression: a pipeline with `/99` used database 0, where there are 16.
test('a database that Redis does not have is refused, and another one is used', async (t) => {
  const at = (database: string) => {
    const queue = openQueue('stream', { url: url.replace(/\/0$/, `/${database}`), timeoutMs: 20_000 });
    t.after(() => queue.close());
    return queue;
  };
  await assert.rejects(at('99').whenReady(20_000), {
    name: 'UnusableQueue',
    message: /database 99 cannot be used/,
  });
  const third = at('3');
  await third.whenReady(20_000);
  await third.append([{ body: '{}', target: 'a', stamps: '' }]);
  const first = at('0');
  await first.whenReady(20_000);
  assert.deepEqual([await third.depth(), await first.depth()], [1, 0]);
  assert.throws(
    () => openQueue('stream', { url: 'redis://one:1,two:2/3', timeoutMs: 1 }),
    /Redis Cluster, which has no database but 0/,
  );
});

// Regression: a write in the moment between the end of a connection and its close was an outage's first line of the log, and
// had a line for its end: "Redis did not take it" beside "Redis is away".
test('Redis is away as soon as it has ended the connection, before that is closed', async (t) => {
  const store = await open(t);
  const { stream } = store.redis;
  const seen = Promise.withResolvers<string[]>();
  stream.once('end', () => {
    const then = [store.redis.status, store.away?.problem ?? 'there'];
    store.redis.ping().catch(() => seen.resolve(then));
  });
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  assert.deepEqual(await seen.promise, ['ready', 'Redis is away']);
  await eventually(() => store.away === undefined, 'another connection');
});

test('what makes Redis unfit is noticed while the connection lasts', async (t) => {
  const store = await open(t);
  t.after(() => redis.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction'));
  t.after(() => redis.replicaof('NO', 'ONE'));
  assert.equal(await store.unfit(), undefined);
  await redis.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
  assert.deepEqual(
    [(await store.unfit())?.lasts, (await store.unfit())?.why.split(',')[0]],
    [true, 'maxmemory-policy is allkeys-lru'],
  );
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  assert.equal(await store.unfit(), undefined);
  await redis.replicaof('127.0.0.1', '1');
  assert.equal((await store.unfit())?.lasts, false);
});

test('a Redis that does not say its policy and role is unfit', async (t) => {
  await redis.acl('SETUSER', 'silent', 'reset', 'on', '>secret', '~*', '+@all', '-info');
  const store = await open(t, url.replace('//default:', '//silent:'));
  assert.match((await store.unfit())?.why ?? '', /needs the right \+info/);
});

test('every component traces the same messages, and records their times by id', async (t) => {
  const chosen = Array.from({ length: 10 }, (_, i) => `r.1.${i}`).filter((id) => isTraced(id, 5));
  assert.deepEqual(chosen, ['r.1.0', 'r.1.5']);
  const others = Array.from({ length: 2000 }, (_, i) => `order-${i}x`).filter((id) => isTraced(id, 10));
  assert.ok(others.length > 100 && others.length < 300, `${others.length} of 2,000`);
  const trouble: string[] = [];
  let time = 100;
  const trace = new TraceList({
    store: await open(t),
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

// Regression: whoever waited for it waited on, up to REDIS_TIMEOUT_MS, and so did the process.
test('a connection that is closed while it is awaited is awaited no longer', async () => {
  const away = new Store({ url: `redis://127.0.0.1:${await freePort()}/0`, timeoutMs: 1000 });
  const waiting = away.whenReady(3_600_000);
  away.close();
  await assert.rejects(waiting);
});
