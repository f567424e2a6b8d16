import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import { Redis } from 'ioredis';
import { Clock } from '../clock.ts';
import { parseStamps } from '../hops.ts';
import { decodeFrame } from '../queue/frame.ts';
import { openQueue } from '../queue/open.ts';
import type { Queue } from '../queue/queue.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';
import { ingest, noCounts } from './app.ts';
import { Tokens } from './tokens.ts';

const TOKEN = 'a-token-of-the-test';
const BODY_LIMIT = 2000;
const JSON_TYPE = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const message = { id: 'r.1.1', source: 'test', target: 'user/17', text: 'ä "quoted" \u2028' };

let service: Service;
let redis: Redis;
let queue: Queue;
let clock: Clock;
let app: FastifyInstance;

before(async () => {
  const started = await startRedis();
  service = started.service;
  redis = new Redis(started.url);
  redis.on('error', () => {});
  queue = openQueue('stream', { url: started.url, timeoutMs: 300 });
  await queue.whenReady(5000);
  clock = new Clock(() => queue.time());
  await clock.probe();
  app = await createApp();
});

after(async () => {
  await app.close();
  queue.close();
  redis.disconnect();
  await service.remove();
});

async function createApp({ backlogLimit = 1000, stamps = true } = {}): Promise<FastifyInstance> {
  const instance = fastify();
  await instance.register(ingest, {
    queue,
    now: stamps ? () => clock.now() : undefined,
    tokens: new Tokens(TOKEN, undefined),
    backlogLimit,
    bodyLimit: BODY_LIMIT,
    counters: noCounts(),
    onError: (error) => assert.fail(error),
  });
  return instance;
}

function post(url: string, body: unknown, headers: Record<string, string> = JSON_TYPE) {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return app.inject({ method: 'POST', url, headers, payload });
}

async function entries(): Promise<{ target: string; stamps: string; body: string }[]> {
  const raw = (await redis.xrangeBuffer('arrival:messages', '-', '+')) as [Buffer, Buffer[]][];
  return raw.map(([, fields]) => {
    const { body, ...head } = decodeFrame(fields[1] as Buffer);
    return { ...head, body: body.toString() };
  });
}

test('a message is in the queue when 202 comes, its bytes untouched, its stamps in order', async () => {
  await redis.del('arrival:messages');
  const before_us = clock.now();
  const body = `  ${JSON.stringify(message, null, 2)}\n`;
  const response = await post('/messages', body);
  assert.equal(response.statusCode, 202);
  assert.deepEqual(response.json(), { accepted: 1 });
  const [entry, ...more] = await entries();
  assert.equal(more.length, 0);
  assert.equal(entry?.body, body);
  assert.equal(entry?.target, 'user/17');
  const { received, queued } = parseStamps(entry?.stamps ?? '');
  assert.ok(before_us <= received && received <= queued && queued <= clock.now());
});

test('an ingest without a clock stamps nothing', async (t) => {
  const plain = await createApp({ stamps: false });
  t.after(() => plain.close());
  await redis.del('arrival:messages');
  await plain.inject({ method: 'POST', url: '/messages', headers: JSON_TYPE, payload: message });
  assert.deepEqual(await entries(), [{ body: JSON.stringify(message), target: 'user/17', stamps: '' }]);
});

test('a batch is queued element by element', async () => {
  await redis.del('arrival:messages');
  const batch = [1, 2, 3].map((n) => ({ ...message, id: `r.1.${n}`, target: `user/${n}` }));
  const response = await post('/messages/batch', batch);
  assert.equal(response.statusCode, 202);
  assert.deepEqual(response.json(), { accepted: 3 });
  const queued = await entries();
  assert.deepEqual(
    queued.map((entry) => entry.body),
    batch.map((element) => JSON.stringify(element)),
  );
});

test('messages of one event-loop turn leave in one write', async () => {
  await redis.del('arrival:messages');
  const commands = async () =>
    Number(/calls=(\d+)/.exec((await redis.info('commandstats')).split('cmdstat_eval')[1] ?? '')?.[1]);
  await post('/messages', message);
  const before_calls = await commands();
  await Promise.all(Array.from({ length: 50 }, () => post('/messages', message)));
  assert.equal((await entries()).length, 51);
  assert.ok((await commands()) - before_calls < 25, 'far fewer writes than messages');
});

const refused: [name: string, url: string, body: unknown, status: number, field: string | undefined][] = [
  ['no target', '/messages', { id: 'a' }, 400, 'target'],
  ['an empty id', '/messages', { id: '', target: 'a' }, 400, 'id'],
  ['a number as id', '/messages', { id: 17, target: 'a' }, 400, 'id'],
  ['an id too long', '/messages', { id: 'x'.repeat(129), target: 'a' }, 400, 'id'],
  ['a wildcard target', '/messages', { id: 'a', target: 'user/#' }, 400, 'target'],
  ['an empty topic level', '/messages', { id: 'a', target: 'user//1' }, 400, 'target'],
  ['a null character', '/messages', { id: 'a', target: 'user\u0000' }, 400, 'target'],
  ['the third of a batch', '/messages/batch', [message, message, { id: 'a' }], 400, '2.target'],
  ['an empty batch', '/messages/batch', [], 400, ''],
  ['a batch too large', '/messages/batch', JSON.stringify(Array(1001).fill(0)), 413, undefined],
  ['an array for one message', '/messages', [message], 400, ''],
  ['no JSON', '/messages', '{"id":', 400, ''],
  ['nothing', '/messages', '', 400, ''],
  ['bytes that are not UTF-8', '/messages', Buffer.from('{"id":"a\xff","target":"a"}', 'latin1'), 400, ''],
  ['a body too large', '/messages', { ...message, text: 'x'.repeat(BODY_LIMIT) }, 413, undefined],
];
for (const [name, url, body, status, field] of refused) {
  test(`refused: ${name}`, async () => {
    await redis.del('arrival:messages');
    const response = await post(url, body);
    assert.equal(response.statusCode, status, response.body);
    const answer = response.json();
    assert.equal(answer.field, field);
    assert.equal(typeof answer.error, 'string');
    if (field) assert.ok(answer.error.startsWith(`${field}: `));
    assert.equal((await entries()).length, 0);
  });
}

test('no token, a wrong token: 401', async () => {
  const { authorization: _, ...anonymous } = JSON_TYPE;
  for (const headers of [anonymous, { ...JSON_TYPE, authorization: 'Bearer another' }]) {
    const response = await post('/messages', message, headers as typeof JSON_TYPE);
    assert.equal(response.statusCode, 401);
    assert.equal(typeof response.json().error, 'string');
  }
});

test('an unknown path, a type that is not JSON', async () => {
  assert.equal((await post('/nowhere', message)).statusCode, 404);
  const response = await post('/messages', 'a=b', { ...JSON_TYPE, 'content-type': 'text/plain' });
  assert.equal(response.statusCode, 415);
});

test('a backlog at its limit: 503 with Retry-After, and back when the queue is shorter', async (t) => {
  const small = await createApp({ backlogLimit: 3 });
  t.after(() => small.close());
  await redis.del('arrival:messages');
  const send = () => small.inject({ method: 'POST', url: '/messages', headers: JSON_TYPE, payload: message });
  for (let i = 0; i < 3; i++) assert.equal((await send()).statusCode, 202);
  await eventually(
    async () => (await small.inject('/readyz')).statusCode === 503,
    'the backlog to be noticed',
  );
  const response = await send();
  assert.equal(response.statusCode, 503);
  assert.equal(response.headers['retry-after'], '1');
  assert.match(response.json().error, /a backlog of 3 messages reaches the limit of 3/);
  await redis.del('arrival:messages');
  await eventually(async () => (await send()).statusCode === 202, 'a message to be accepted');
});

test('alive and ready need no token', async () => {
  assert.equal((await app.inject('/livez')).statusCode, 200);
  assert.equal((await app.inject('/readyz')).statusCode, 200);
});

test('Redis hangs: 503 by the deadline, and promptly from then on', async () => {
  service.signal('SIGSTOP');
  const started = performance.now();
  const responses = await Promise.all([post('/messages', message), post('/messages', message)]);
  assert.ok(performance.now() - started < 1500);
  for (const response of responses) {
    assert.equal(response.statusCode, 503);
    assert.equal(response.headers['retry-after'], '1');
  }
  const again = performance.now();
  assert.equal((await post('/messages', message)).statusCode, 503);
  assert.ok(performance.now() - again < 100);
  service.signal('SIGCONT');
  await eventually(async () => (await post('/messages', message)).statusCode === 202, 'a recovery');
});

test('Redis killed: 503 promptly, alive but not ready; started again: accepted, nothing acknowledged is gone', async () => {
  await redis.del('arrival:messages');
  assert.equal((await post('/messages', message)).statusCode, 202);
  service.signal('SIGKILL');
  await eventually(() => !queue.ready, 'the loss to be noticed');
  const started = performance.now();
  const response = await post('/messages', message);
  assert.ok(performance.now() - started < 100);
  assert.equal(response.statusCode, 503);
  assert.equal(response.headers['retry-after'], '1');
  assert.match(response.json().error, /Redis/);
  assert.equal((await app.inject('/livez')).statusCode, 200);
  assert.equal((await app.inject('/readyz')).statusCode, 503);
  await service.start();
  await eventually(async () => (await post('/messages', message)).statusCode === 202, 'a recovery');
  assert.equal((await entries()).length, 2);
});
