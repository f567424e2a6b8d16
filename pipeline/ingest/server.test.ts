import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { Redis } from 'ioredis';
import { type Certificate, makeCertificates } from '../stack/certificates.ts';
import { type Env, healthOf, type InProcess, ingestHere, inItsProcess } from '../test/running.ts';
import { eventually, remove, type Service, startRedis, temporaryDirectory } from '../test/services.ts';

const SCRIPT = join(import.meta.dirname, 'server.ts');

let dir: string;
let redis: { url: string; as(user: 'ingest'): string; service: Service };
let admin: Redis;

before(async () => {
  dir = await temporaryDirectory();
  redis = await startRedis();
  admin = new Redis(redis.url);
});

after(async () => {
  admin.disconnect();
  await redis.service.remove();
  await remove(dir);
});

const settings = (env: Env): Env => ({
  REDIS_URL: redis.as('ingest'),
  INGEST_PORT: '0',
  PROCESS_NAME: 'ingest-test',
  ...env,
});

function start(t: TestContext, env: Env): InProcess {
  const ingest = ingestHere(settings(env));
  t.after(() => ingest.stop());
  return ingest;
}

/** An ingest in its own process, for signals and limits. */
const startProcess = (t: TestContext, env: Env, under?: readonly string[]) =>
  inItsProcess(t, 'ingest', settings(env), under);

interface Seen {
  status: number;
  /** The fingerprint of the server's certificate. */
  fingerprint: string;
}

function post(port: number, token: string, ca: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const call = request({
      host: '127.0.0.1',
      port,
      path: '/messages',
      method: 'POST',
      headers,
      ca,
      agent: false,
    });
    call.on('error', reject);
    call.on('response', (response) => {
      const fingerprint = (response.socket as TLSSocket).getPeerCertificate().fingerprint256;
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, fingerprint }));
    });
    call.end('{"id":"a","target":"b"}');
  });
}

test('certificate and tokens can be replaced while it runs; a stop answers open requests', async (t) => {
  const tokens = join(dir, 'tokens');
  await writeFile(tokens, 'first-token\n');
  const { ca, of } = await makeCertificates(join(dir, 'tls'), ['one', 'two']);
  const trusted = await readFile(ca, 'utf8');
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  const install = ({ cert, key }: Certificate) =>
    Promise.all([copyFile(cert, files.cert), copyFile(key, files.key)]);
  await install(of.one);
  const ingest = await startProcess(t, {
    INGEST_TOKENS_FILE: tokens,
    INGEST_TLS_CERT: files.cert,
    INGEST_TLS_KEY: files.key,
    REDIS_TIMEOUT_MS: '60000',
  });
  await ingest.says(/listening at https:/, 30_000);
  const port = Number(/listening at https:\/\/[^:]+:(\d+)/.exec(ingest.lastLines.join('\n'))?.[1]);

  const first = await post(port, 'first-token', trusted);
  assert.equal(first.status, 202);
  assert.equal((await post(port, 'second-token', trusted)).status, 401);
  await assert.rejects(post(port, 'first-token', await readFile(of.two.cert, 'utf8')), /certificate/);

  await writeFile(tokens, 'second-token\n');
  await install(of.two);
  ingest.signal('SIGHUP');
  await ingest.says(/certificate read again/, 30_000);
  const second = await post(port, 'second-token', trusted);
  assert.equal(second.status, 202);
  assert.notEqual(second.fingerprint, first.fingerprint);
  assert.equal((await post(port, 'first-token', trusted)).status, 401);

  await writeFile(files.key, 'no key');
  ingest.signal('SIGHUP');
  await ingest.says(/INGEST_TLS_KEY is .*; the previous certificate stays in use/, 30_000);
  assert.equal((await post(port, 'second-token', trusted)).fingerprint, second.fingerprint);
  assert.ok(!ingest.lastLines.join('\n').includes('-token'), 'no token is in the log');

  await admin.call('CLIENT', 'PAUSE', 60_000, 'WRITE');
  const open = post(port, 'second-token', trusted);
  await eventually(
    async () => (await admin.info('clients')).includes('blocked_clients:1'),
    'a write that waits',
  );
  ingest.signal('SIGTERM');
  // A connection alone: a request would wait for Redis too.
  const gone = () =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(false)).on('error', () => resolve(true));
      socket.on('connect', () => socket.destroy());
    });
  await eventually(gone, 'an ingest that takes no more connections');
  await admin.call('CLIENT', 'UNPAUSE');
  assert.equal((await open).status, 202);
  assert.match(await ingest.ended, /code 0/);
});

const wrong: [name: string, env: Record<string, string>, says: RegExp][] = [
  ['no token', {}, /^INGEST_TOKEN is not set, nor is INGEST_TOKENS_FILE; allowed: /],
  [
    'a certificate without its key',
    { INGEST_TLS_CERT: SCRIPT },
    /^INGEST_TLS_KEY is not set, and INGEST_TLS_CERT/,
  ],
  [
    'a file that is not a certificate',
    { INGEST_TLS_CERT: SCRIPT, INGEST_TLS_KEY: SCRIPT },
    /^INGEST_TLS_CERT is ".*"; allowed: /,
  ],
  ['memory below a body', { MEMORY_LIMIT: '1000' }, /^MEMORY_LIMIT is 1000; allowed: BODY_LIMIT or more/],
  ['an id in the payload', { ID_KEY: 'payload.id' }, /^ID_KEY is "payload.id"; allowed: .*like meta\.id/],
];

test('a wrong setting is reported in one line, before anything starts', async (t) => {
  const all = wrong.map(async ([name, env, says]) => {
    const given = name === 'no token' ? env : { INGEST_TOKEN: 'of-the-variable', ...env };
    const ingest = name === 'no token' ? await startProcess(t, given) : start(t, given);
    assert.match(await ingest.ended, /code 1/, name);
    assert.equal(ingest.lastLines.length, 1, name);
    assert.match(ingest.lastLines[0] ?? '', says, name);
  });
  await Promise.all(all);
});

// Regression: Node's own error named neither this variable nor the one whose default was the cause.
test('REQUEST_TIMEOUT_MS can be below the default of HEADERS_TIMEOUT_MS', async (t) => {
  const ingest = start(t, { INGEST_TOKEN: 'of-the-variable', REQUEST_TIMEOUT_MS: '5000' });
  await ingest.says(/listening at http:/, 30_000);
});

test('a taken port is reported in one line', async (t) => {
  const { port } = new URL(redis.url);
  const ingest = start(t, { INGEST_TOKEN: 'of-the-variable', INGEST_PORT: port });
  assert.match(await ingest.ended, /code 1/);
  assert.match(ingest.lastLines.at(-1) ?? '', /^INGEST_PORT=\d+ cannot be used: .*EADDRINUSE/);
});

// Regression: it was killed by its own timeout, with code 1, and open requests got no answer.
test('SIGTERM while Redis does not answer: open requests are answered 503', async (t) => {
  const ingest = await startProcess(t, { INGEST_TOKEN: 'of-the-variable', REDIS_TIMEOUT_MS: '60000' });
  await ingest.says(/listening at http:/, 30_000);
  const lines = ingest.lastLines.join('\n');
  const url = /listening at (http:[^\s"]+)/.exec(lines)?.[1];
  const health = await healthOf(ingest);
  redis.service.signal('SIGSTOP');
  t.after(() => redis.service.signal('SIGCONT'));
  const open = fetch(`${url}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer of-the-variable', 'content-type': 'application/json' },
    body: '{"id":"a","target":"b"}',
  });
  await eventually(async () => {
    const text = await (await fetch(`${health}/metrics`)).text();
    return /^arrival_ingest_messages_unanswered 1$/m.test(text);
  }, 'a write that waits');
  ingest.signal('SIGTERM');
  assert.equal((await open).status, 503);
  assert.match(await ingest.ended, /code 0/);
  assert.match(ingest.lastLines.join('\n'), /Redis does not answer/);
});

// Regression: 1,044 idle connections at a limit of 1,024 files ended it with EMFILE.
test('a process with few files takes fewer connections, says so, and lives on when they are used up', async (t) => {
  const few = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'];
  const ingest = await startProcess(t, { INGEST_TOKEN: 'of-the-variable' }, few);
  await ingest.says(/CONNECTION_LIMIT is 4096, and this process may open 256 files .*it takes 128/, 30_000);
  const [, url = ''] = await ingest.says(/listening at (http:[^\s"]+)/, 30_000);
  const health = await healthOf(ingest);
  const open = [url, health].flatMap((at) =>
    Array.from({ length: 300 }, () => connect(Number(new URL(at).port), '127.0.0.1').on('error', () => {})),
  );
  t.after(() => open.forEach((socket) => void socket.destroy()));
  await ingest.says(/128 connections are open, which is the limit/, 30_000);
  for (const socket of open) socket.destroy();
  await ingest.says(/it takes all connections again, after/, 30_000);
  const { status } = await fetch(`${health}/readyz`);
  assert.equal(status, 200);
});

test('no message is accepted before the clock is probed', async (t) => {
  await admin.call('ACL', 'SETUSER', 'ingest', '-time');
  t.after(() => admin.call('ACL', 'SETUSER', 'ingest', '+time'));
  const ingest = start(t, { INGEST_TOKEN: 'of-the-variable' });
  await ingest.says(/listening at http:/, 30_000);
  const url = /listening at (http:[^\s"]+)/.exec(ingest.lastLines.join('\n'))?.[1];
  const send = () =>
    fetch(`${url}/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer of-the-variable', 'content-type': 'application/json' },
      body: '{"id":"a","target":"b"}',
    });
  const refused = await send();
  assert.equal(refused.status, 503);
  assert.deepEqual(await refused.json(), { error: 'Redis: its clock is not known yet' });
  await admin.call('ACL', 'SETUSER', 'ingest', '+time');
  await eventually(async () => (await send()).status === 202, 'an accepted message');
});

test('the ingest refuses a Redis that may evict messages', async (t) => {
  t.after(() => admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction'));
  await admin.config('SET', 'maxmemory', '100mb');
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const ingest = start(t, { INGEST_TOKEN: 'of-the-variable' });
  assert.match(await ingest.ended, /code 1/);
  assert.match(
    ingest.lastLines.at(-1) ?? '',
    /^REDIS_URL: maxmemory-policy is allkeys-lru, allowed is noeviction/,
  );
});

// Regression: an ingest on all addresses said that it listens on 127.0.0.1.
test('the log has the addresses that the ingest listens on', async (t) => {
  for (const [host, shown] of [
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['localhost', '127.0.0.1'],
    ['::1', '[::1]'],
  ] as const) {
    if (host === '::1' && !hasIpv6()) continue;
    const ingest = start(t, { INGEST_TOKEN: 'some-token', INGEST_HOST: host, HEALTH_HOST: host });
    for (const what of ['health', 'listening']) {
      const [, url = ''] = await ingest.says(new RegExp(`${what} at (http:[^\\s"]+)`), 30_000);
      assert.equal(url.replace(/:\d+$/, ''), `http://${shown}`, host);
    }
  }
});

const hasIpv6 = () =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
