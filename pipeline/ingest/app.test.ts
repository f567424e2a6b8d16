import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { decodeFrame, unpackFrames } from '../queue/frame.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { Store } from '../queue/store.ts';
import { Clock } from '../shared/clock.ts';
import { hopsOf } from '../test/hops.ts';
import { AUTHORIZED, type RawConnection, TestIngest } from '../test/ingest.ts';
import { eventually, type Service, startRedis } from '../test/services.ts';
import { Clients } from './http.ts';

const MB = 1_048_576;
const message = { id: 'r.1.1', source: 'test', target: 'user/17', payload: 'ä "quoted" \u2028' };

let service: Service;
let redis: Redis;
let store: Store;
let queue: MessageQueue;
let clock: Clock;
let ingest: TestIngest;

before(async () => {
  const started = await startRedis();
  service = started.service;
  redis = new Redis(started.url);
  const options = { url: started.url, timeoutMs: 15_000 };
  store = new Store(options);
  queue = openQueue('stream', options, store);
  await queue.whenReady(15_000);
  clock = new Clock(() => store.time());
  await clock.probe();
  const now = () => clock.now();
  ingest = await TestIngest.start({ queue, now });
});

beforeEach(() => redis.del('arrival:messages'));

after(async () => {
  await ingest.close();
  queue.close();
  store.close();
  redis.disconnect();
  await service.remove();
});

async function entries(): Promise<{ target: string; stamps: string; trace: string; body: string }[]> {
  const raw = (await redis.xrangeBuffer('arrival:messages', '-', '+')) as [Buffer, Buffer[]][];
  const frames = raw.flatMap(([, fields]) => unpackFrames(fields[1] as Buffer));
  return frames.map((frame) => {
    const { body, ...head } = decodeFrame(frame);
    return { ...head, body: body.toString() };
  });
}

test('after a 202 the message is queued unchanged, with ordered stamps', async () => {
  const before_us = clock.now();
  const body = `  ${JSON.stringify(message, null, 2)}\n`;
  const answer = await ingest.post('/messages', body);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.body, { accepted: 1 });
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const [entry, ...more] = await entries();
  assert.equal(more.length, 0);
  assert.equal(entry?.body, body);
  assert.equal(entry?.target, 'user/17');
  const { received, queued } = hopsOf(`${entry?.stamps},0,0`);
  assert.ok(before_us <= received && received <= queued && queued <= clock.now());
});

// Regression: JSON.stringify recurses, so a deep payload got a 500 in a batch. A single message was accepted.
for (const path of ['/messages', '/messages/batch']) {
  test(`${path}: a payload of more than 1,000 levels is refused with a reason`, async () => {
    const nested = (levels: number, [open, close]: string[]) => {
      const payload = `${open?.repeat(levels)}${levels > 0 ? '0' : ''}${close?.repeat(levels)}`;
      const text = `{"id":"r.1.1","target":"user/1","payload":${payload}}`;
      return path === '/messages' ? text : `[${JSON.stringify(message)},${text}]`;
    };
    const posted = async (body: string) => {
      const { status, body: answer } = await ingest.post(path, body);
      const injected = await ingest.app.inject({ method: 'POST', url: path, headers: AUTHORIZED, body });
      assert.deepEqual([injected.statusCode, injected.json()], [status, answer]);
      return { status, answer };
    };
    for (const brackets of [
      ['[', ']'],
      ['{"a":', '}'],
      ['[7,{"b":"x","a":', '},8]'],
    ]) {
      const each = brackets[0]?.startsWith('[7') ? 2 : 1;
      assert.equal((await posted(nested(1000 / each, brackets))).status, 202);
      const { failed } = ingest.counters;
      for (const levels of [20_000, 1000 / each + 1]) {
        const { status, answer } = await posted(nested(levels, brackets));
        assert.equal(status, 400);
        assert.equal(answer.field, path === '/messages' ? 'payload' : '1.payload');
        assert.match(answer.error ?? '', /1,?000/);
      }
      assert.equal(ingest.counters.failed, failed);
    }
  });
}

test('an ingest without a clock writes no stamps, and idKey selects the id', async (t) => {
  const other = await TestIngest.start({ queue, idKey: 'meta.id' });
  t.after(() => other.close());
  const body = { meta: { id: 'r.1.1' }, target: 'user/1' };
  assert.equal((await other.post('/messages', body)).status, 202);
  assert.deepEqual(await entries(), [
    { body: JSON.stringify(body), target: 'user/1', stamps: '', trace: '' },
  ]);
  assert.equal((await other.post('/messages', message)).body.field, 'id');
});

// Regression: the elements were written anew, and numbers that a double does not hold were changed.
test('each element of a batch is queued unchanged', async () => {
  const bodies = [
    '{"id":"r.1.1","target":"user/1","payload":{"n":12345678901234567890,"m":1.50,"e":1e400}}',
    '{ "id": "r.1.2", "target": "user/2", "payload": "],[{\\"" }',
  ];
  assert.equal((await ingest.post('/messages/batch', `[ ${bodies.join(' ,\n')} ]`)).status, 202);
  assert.deepEqual(
    (await entries()).map(({ body, target }) => [body, target]),
    [
      [bodies[0], 'user/1'],
      [bodies[1], 'user/2'],
    ],
  );
});

test('each element of a batch is queued as a message', async () => {
  const batch = [1, 2, 3].map((n) => ({ ...message, id: `r.1.${n}`, target: `user/${n}` }));
  const answer = await ingest.post('/messages/batch', batch);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.body, { accepted: 3 });
  const bodies = (await entries()).map(({ body }) => body);
  assert.deepEqual(
    bodies,
    batch.map((element) => JSON.stringify(element)),
  );
});

test('a body can come in pieces or chunks that split a character', async () => {
  const bytes = Buffer.from(JSON.stringify(message));
  const divided = bytes.indexOf('ä') + 1;
  const pieces = [bytes.subarray(0, divided), bytes.subarray(divided)];
  const whole = ingest.open(ingest.head(`content-length: ${bytes.length}`, 'connection: close'));
  for (const piece of pieces) {
    whole.write(piece);
    await ingest.get('/livez');
  }
  assert.match(await whole.closed, /^HTTP\/1.1 202 /);
  const chunked = pieces.map((piece) =>
    Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
  );
  const head = ingest.head('transfer-encoding: chunked', 'connection: close');
  assert.match(await ingest.open(head, ...chunked, '0\r\n\r\n').closed, /^HTTP\/1.1 202 /);
  assert.deepEqual(
    (await entries()).map(({ body }) => body),
    Array(2).fill(bytes.toString()),
  );
});

test('messages of one event-loop turn share a write', async () => {
  const writes = ingest.counters.writes;
  const body = JSON.stringify(message);
  const head = ingest.head(`content-length: ${Buffer.byteLength(body)}`);
  // Requests of one segment are all read in one turn.
  const connection = ingest.open(`${head}${body}`.repeat(20));
  await eventually(async () => (await entries()).length === 20, 'twenty messages');
  await eventually(() => connection.received.match(/ 202 /g)?.length === 20, 'twenty answers');
  connection.destroy();
  assert.ok(ingest.counters.writes - writes < 15, 'fewer writes than messages');
});

type Refused = [
  name: string,
  path: string,
  body: unknown,
  status: number,
  field?: string | undefined,
  says?: RegExp,
];
const refused: Refused[] = [
  ['no target', '/messages', { id: 'a' }, 400, 'target'],
  ['an empty id', '/messages', { id: '', target: 'a' }, 400, 'id'],
  ['a number as id', '/messages', { id: 17, target: 'a' }, 400, 'id'],
  ['an id of 129 characters', '/messages', { id: 'x'.repeat(129), target: 'a' }, 400, 'id'],
  ['an id of a million characters', '/messages', { id: 'x'.repeat(1e6), target: 'a' }, 400, 'id'],
  ['a wildcard target', '/messages', { id: 'a', target: 'user/#' }, 400, 'target'],
  ['a line break in the target', '/messages', { id: 'a', target: 'user/1\n1,2' }, 400, 'target'],
  ['a null character', '/messages', { id: 'a', target: 'user\u0000' }, 400, 'target'],
  ['an unknown field', '/messages', { ...message, priority: 1 }, 400, 'priority', /is not known/],
  ['an id twice', '/messages', '{"id":"a","id":"b","target":"c"}', 400, 'id', /is given twice/],
  [
    'a target twice in a batch',
    '/messages/batch',
    '[{"id":"a","target":"b"},{"id":"a","target":"b","t\\u0061rget":"c"}]',
    400,
    '1.target',
  ],
  ['__proto__', '/messages', '{"id":"a","target":"b","__proto__":{}}', 400, '__proto__'],
  ['the third message of a batch', '/messages/batch', [message, message, { id: 'a' }], 400, '2.target'],
  ['an empty batch', '/messages/batch', [], 400, ''],
  ['a batch of 10,001', '/messages/batch', Array(10_001).fill(message), 413, undefined, /the limit of 1000$/],
  ['an array instead of a message', '/messages', [message], 400, ''],
  ['a message instead of an array', '/messages/batch', message, 400, ''],
  ['invalid JSON', '/messages', '{"id":', 400, '', /^body: is not JSON/],
  ['an empty body', '/messages', '', 400, ''],
  ['bytes that are not UTF-8', '/messages', Buffer.from('{"id":"\xff","target":"a"}', 'latin1'), 400, ''],
  ['a body of 10 MB', '/messages', { ...message, payload: 'x'.repeat(10 * MB) }, 413, undefined, / 1048576 /],
  ['an unknown path', '/nowhere', message, 404],
];
for (const [name, path, body, status, field, says] of refused) {
  test(`refused: ${name}`, async () => {
    const answer = await ingest.post(path, body);
    assert.equal(answer.status, status, answer.body.error);
    assert.equal(answer.body.field, field);
    assert.equal(typeof answer.body.error, 'string');
    if (field) assert.ok(answer.body.error?.startsWith(`${field}: `), answer.body.error);
    if (says) assert.match(answer.body.error ?? '', says);
    assert.equal(answer.headers.get('retry-after'), null);
    await nothingIsLeft();
  });
}

const { authorization: _, ...anonymous } = AUTHORIZED;
const headers: [name: string, headers: Record<string, string>, status: number][] = [
  ['no token', anonymous, 401],
  ['a wrong token', { ...AUTHORIZED, authorization: 'Bearer another' }, 401],
  ['another authorization scheme', { ...AUTHORIZED, authorization: 'Basic YTpi' }, 401],
  ['a content type other than JSON', { ...AUTHORIZED, 'content-type': 'text/plain' }, 415],
  ['no content type', { ...AUTHORIZED, 'content-type': '' }, 415],
  // Regression: 400, not UTF-8.
  ...['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip', 'x'].map(
    (coding): [string, Record<string, string>, number] => [
      `the content coding ${coding}`,
      { ...AUTHORIZED, 'content-encoding': coding },
      415,
    ],
  ),
  ...['latin1', '"utf-16"', 'ISO-8859-1'].map((charset): [string, Record<string, string>, number] => [
    `the character set ${charset}`,
    { ...AUTHORIZED, 'content-type': `application/json; charset=${charset}` },
    415,
  ]),
];
for (const [name, set, status] of headers) {
  test(`refused: ${name}`, async () => {
    const answer = await ingest.post('/messages', message, set);
    assert.equal(answer.status, status);
    assert.equal(typeof answer.body.error, 'string');
    assert.equal(answer.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null);
    await nothingIsLeft();
  });
}

/** Requests that no client library sends. Each ends the connection. */
const raw: [name: string, parts: () => string[], status: number][] = [
  [
    'headers too large',
    () => [`GET /livez HTTP/1.1\r\nhost: a\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`],
    431,
  ],
  ['not HTTP', () => ['hello\r\n\r\n'], 400],
  // Regression: Node answered the next two itself, without a body.
  ['no Host', () => ['GET /livez HTTP/1.1\r\n\r\n'], 400],
  ['an unknown expectation', () => ['GET /livez HTTP/1.1\r\nhost: a\r\nexpect: bogus\r\n\r\n'], 417],
  ['two Hosts', () => ['GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'], 400],
  // Regression: the first one counted.
  ['two tokens', () => [ingest.head('Authorization: Bearer another', 'content-length: 0')], 400],
  ['two content types', () => [ingest.head('Content-Type: text/plain', 'content-length: 0')], 400],
  // Regression: Fastify answered it itself.
  ['a path with a bare %', () => ['GET /livez% HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'], 400],
  ['a length and chunks', () => [ingest.head('content-length: 2', 'transfer-encoding: chunked'), '{}'], 400],
  ['10 MB announced, partly sent', () => [ingest.head(`content-length: ${10 * MB}`), '{"id":'], 413],
  [
    '10 MB without a token',
    () => [`POST /messages HTTP/1.1\r\nhost: a\r\ncontent-length: ${10 * MB}\r\n\r\n`, '{"id":'],
    401,
  ],
  // Only the message routes read bodies.
  [
    '10 MB to another path',
    () => [ingest.head(`content-length: ${10 * MB}`).replace('/messages', '/nowhere'), '{"id":'],
    404,
  ],
  ['10 MB with Expect', () => [ingest.head(`content-length: ${10 * MB}`, 'expect: 100-continue')], 413],
  [
    'endless chunks',
    () => [ingest.head('transfer-encoding: chunked'), `300000\r\n${'x'.repeat(3 * MB)}\r\n`],
    413,
  ],
];
for (const [name, parts, status] of raw) {
  test(`refused: ${name}`, async () => {
    const answer = await ingest.open(...parts()).closed;
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*connection: close`, 'i'));
    assert.match(answer, /\r\n\r\n\{"error":"[^"]+"\}$/);
    await nothingIsLeft();
  });
}

test('refused: slow headers and slow bodies', async (t) => {
  const hasty = await TestIngest.start({ queue, headersTimeoutMs: 300, requestTimeoutMs: 600 });
  t.after(() => hasty.close());
  const slow = [
    ['POST /messages HTTP/1.1\r\nhost: a\r\nx-slow: '],
    [hasty.head('content-length: 100'), '{"id":'],
  ];
  const answers = await Promise.all(slow.map((parts) => hasty.open(...parts).closed));
  for (const answer of answers) assert.match(answer, /^HTTP\/1.1 408 [\s\S]*\{"error":"[^"]+"\}$/);
  await nothingIsLeft(hasty);
});

test('an aborted request leaves nothing behind', async () => {
  const begun = [
    [ingest.head('content-length: 100'), '{"id":'],
    [ingest.head('transfer-encoding: chunked'), '6\r\n{"id":\r\n'],
  ];
  for (const parts of begun) {
    const connection = ingest.open(...parts);
    await eventually(
      () => ingest.counters.open === 1 && ingest.counters.held_bytes > 0,
      'a part of the body',
    );
    connection.destroy();
    await nothingIsLeft();
  }
});

// Regression: each was two, one of the connection and one of the request.
test('an upload that ends early is one refusal, and a client that leaves between requests none', async (t) => {
  const hasty = await TestIngest.start({ queue, headersTimeoutMs: 300, requestTimeoutMs: 600 });
  t.after(() => hasty.close());
  const length = hasty.head('content-length: 100');
  const chunked = hasty.head('transfer-encoding: chunked');
  const ways: [parts: string[], end: (connection: RawConnection) => void][] = [
    [[length, '{"id":'], (connection) => connection.destroy()],
    [[length, '{"id":'], (connection) => connection.finish('end')],
    [[length, '{"id":'], (connection) => connection.finish('reset')],
    [[chunked, '6\r\n{"id":\r\n'], (connection) => connection.destroy()],
    [[chunked, '6\r\n{"id":\r\n'], (connection) => connection.write('zz\r\n')],
    [[length, '{"id":'], () => {}],
  ];
  for (const [parts, end] of ways) {
    const connection = hasty.open(...parts);
    await eventually(() => hasty.counters.open === 1, 'a request');
    end(connection);
    await connection.closed;
    await nothingIsLeft(hasty);
  }
  assert.equal(hasty.counters.refused, ways.length);
  const polite = hasty.open('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
  await eventually(() => polite.received.includes('alive'), 'the answer');
  polite.finish('reset');
  await polite.closed;
  assert.equal(await hasty.get('/livez'), 200);
  assert.equal(hasty.counters.refused, ways.length);
});

test('a client that disconnects while its body is discarded leaves nothing behind', async () => {
  const { refused } = ingest.counters;
  const connection = ingest.open(
    ingest.head('transfer-encoding: chunked'),
    `300000\r\n${'x'.repeat(2 * MB)}`,
  );
  await eventually(() => ingest.counters.refused > refused, 'the answer');
  connection.destroy();
  await nothingIsLeft();
});

test('refused: no content type and no body', async () => {
  const { authorization } = AUTHORIZED;
  const answer = await ingest.app.inject({ method: 'POST', url: '/messages', headers: { authorization } });
  assert.equal(answer.statusCode, 415);
});

test('a connection stays open after an invalid message', async () => {
  const bodies = ['{"id":', '', '[]', JSON.stringify(message)];
  const requests = bodies.map(
    (body) => `${ingest.head(`content-length: ${Buffer.byteLength(body)}`)}${body}`,
  );
  const connection = ingest.open(...requests);
  const statuses = () => [...connection.received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
  await eventually(() => statuses().length === 4, 'four answers');
  assert.deepEqual(statuses(), ['400', '400', '400', '202']);
  connection.destroy();
});

// Regression: a request on an idle connection failed as an ingest was replaced.
test('an ingest that is to close takes requests, and each answer closes its connection', async () => {
  const leaving = await TestIngest.start({ queue });
  const clients = new Clients(leaving.app);
  const body = JSON.stringify(message);
  const request = `${leaving.head(`content-length: ${Buffer.byteLength(body)}`)}${body}`;
  const idle = leaving.open(request);
  await eventually(() => /202/.test(idle.received), 'the first answer');
  const left = clients.dismiss({ reusedMs: 60_000, withinMs: 60_000 });
  idle.write(request);
  assert.match(await idle.closed, /202[\s\S]*202[\s\S]*connection: close/);
  await left;
  await leaving.close();
});

test('an ingest that is to close does not wait for connections that nobody uses', async () => {
  const leaving = await TestIngest.start({ queue });
  const clients = new Clients(leaving.app);
  const body = JSON.stringify(message);
  const idle = leaving.open(`${leaving.head(`content-length: ${Buffer.byteLength(body)}`)}${body}`);
  await eventually(() => /202/.test(idle.received), 'the answer');
  await clients.dismiss({ reusedMs: 0, withinMs: 3_600_000 });
  await leaving.close();
  await idle.closed;
});

test('a closing ingest answers open requests, and later ones with 503', async () => {
  const closing = await TestIngest.start({ queue });
  const body = JSON.stringify(message);
  const request = `${closing.head(`content-length: ${Buffer.byteLength(body)}`)}${body}`;
  await redis.call('CLIENT', 'PAUSE', 60_000, 'WRITE');
  const connection = closing.open(request);
  await eventually(() => closing.counters.unanswered === 1, 'the write');
  const closed = closing.close();
  await eventually(() => !closing.app.server.listening, 'the end of listening');
  const second = once(closing.app.server, 'request');
  connection.write(request);
  await second;
  await redis.call('CLIENT', 'UNPAUSE');
  const answers = await connection.closed;
  assert.match(
    answers,
    /^HTTP\/1.1 202 [\s\S]*HTTP\/1.1 503 [\s\S]*connection: close[\s\S]*\{"error":"[^"]+"/i,
  );
  await closed;
  assert.equal((await entries()).length, 1);
});

test('a client that disconnects before Redis answers leaves only its message', async () => {
  await redis.call('CLIENT', 'PAUSE', 60_000, 'WRITE');
  const body = JSON.stringify(message);
  const connection = ingest.open(`${ingest.head(`content-length: ${Buffer.byteLength(body)}`)}${body}`);
  await eventually(() => ingest.counters.unanswered === 1, 'the write');
  connection.destroy();
  await connection.closed;
  await redis.call('CLIENT', 'UNPAUSE');
  await eventually(() => ingest.counters.open === 0 && ingest.counters.held_bytes === 0, 'the answer');
  assert.equal((await entries()).length, 1);
});

test('a path with a query and a content type with parameters are accepted', async () => {
  const headers = { ...AUTHORIZED, 'content-type': 'Application/JSON; charset=utf-8' };
  assert.equal((await ingest.post('/messages?from=test', message, headers)).status, 202);
  assert.equal((await ingest.post('/messages/batch?', [message], headers)).status, 202);
  assert.equal((await entries()).length, 2);
  assert.equal((await ingest.post('/messages?from=test', message, anonymous)).status, 401);
});

test('/livez and /readyz need no token', async () => {
  assert.equal(await ingest.get('/livez'), 200);
  assert.equal(await ingest.get('/readyz'), 200);
});

// Regression: 404, and some probes ask so.
test('HEAD is answered wherever GET is', async () => {
  for (const path of ['/livez', '/readyz']) {
    const { status } = await fetch(`http://127.0.0.1:${ingest.port}${path}`, { method: 'HEAD' });
    assert.equal(status, 200, path);
  }
  const none = await fetch(`http://127.0.0.1:${ingest.port}/nothing`, { method: 'HEAD' });
  assert.equal(none.status, 404);
});

async function nothingIsLeft({ counters } = ingest): Promise<void> {
  await eventually(() => counters.open === 0 && counters.held_bytes === 0, 'the request to end');
  assert.equal(counters.unanswered, 0);
  assert.equal(await redis.xlen('arrival:messages'), 0, 'nothing reached Redis');
}
