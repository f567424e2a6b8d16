/** Connections end with their process, and leave a Redis that cannot be used for the one to which its address leads by then. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { startCluster } from '../test/cluster.ts';
import { openLink } from '../test/link.ts';
import { eventually, remove, startRedis, temporaryDirectory } from '../test/services.ts';
import { Store } from './store.ts';

const INGEST = join(import.meta.dirname, '../ingest/server.ts');
const WITHIN_MS = 30_000;

let server: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let logs: string;
before(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  logs = await temporaryDirectory();
});
after(async () => {
  redis.disconnect();
  await server.service.remove();
  await remove(logs);
});

/** An ingest, with all lines of its log. */
async function startIngest(t: TestContext): Promise<{ ingest: Supervised; lines: string[] }> {
  const lines: string[] = [];
  const env = {
    REDIS_URL: server.as('ingest'),
    INGEST_PORT: String(await freePort()),
    INGEST_TOKEN: 'a-token-of-the-test',
    PROCESS_NAME: 'ingest-x',
  };
  const launch = { name: 'ingest-x', command: process.execPath, args: [INGEST], env };
  const ingest = await Supervised.start(launch, { logs, onLine: (_name, line) => lines.push(line) });
  t.after(() => ingest.stop());
  await ingest.says(/listening at/, WITHIN_MS);
  return { ingest, lines };
}

const connections = async () =>
  Number(/^total_connections_received:(\d+)/m.exec(await redis.info('stats'))?.[1]);

// Regression: twenty connections a second, each with two lines in the log.
test('a replica gets one new connection a second, and one line in the log', async (t) => {
  t.after(() => redis.replicaof('NO', 'ONE'));
  const { ingest, lines } = await startIngest(t);
  await redis.replicaof('127.0.0.1', '1');
  await ingest.says(/it is a replica/, WITHIN_MS);
  const [count, since] = [await connections(), performance.now()];
  await sleep(4000);
  const more = (await connections()) - count;
  const most = (performance.now() - since) / 1000 + 2;
  assert.ok(more >= 1 && more <= most, `${more} connections of at most ${most}`);
  assert.equal(lines.filter((line) => /replica/.test(line)).length, 1);
  assert.doesNotMatch(lines.join('\n'), /Redis is away/);
  await redis.replicaof('NO', 'ONE');
  await ingest.says(/may get messages again/, WITHIN_MS);
});

// Regression: "Redis is away: connection closed", and /readyz was green.
test('a password that has been changed is named, and makes the process not ready', async (t) => {
  const { ingest, lines } = await startIngest(t);
  const [, url] = await ingest.says(/health at (http:[^\s"]+)/, WITHIN_MS);
  await redis.call('ACL', 'SETUSER', 'ingest', 'resetpass', '>another');
  t.after(() => redis.call('ACL', 'SETUSER', 'ingest', 'resetpass', '>secret'));
  await redis.call('CLIENT', 'KILL', 'USER', 'ingest');
  await ingest.says(/Redis is away: WRONGPASS/, WITHIN_MS);
  const answer = await fetch(`${url}/readyz`);
  const { error } = (await answer.json()) as { error: string };
  assert.deepEqual([answer.status, error], [503, 'Redis refuses this user or password (WRONGPASS)']);
  // Long enough for another attempt, which has nothing new to say.
  await sleep(1500);
  assert.equal(lines.filter((line) => /WRONGPASS/.test(line)).length, 1);
  assert.doesNotMatch(lines.join('\n'), /MaxListeners/);
  await redis.call('ACL', 'SETUSER', 'ingest', 'resetpass', '>secret');
  await eventually(() => lines.filter((line) => /Redis answers/.test(line)).length === 2, 'a connection');
});

// Regression: its connection stayed as long as it loaded, wherever the address led by then.
test('a Redis that loads its data is left for the one that its address leads to', async (t) => {
  const loading = await startRedis();
  t.after(() => loading.service.remove());
  const admin = new Redis(loading.url);
  t.after(() => admin.disconnect());
  const { hostname, port } = new URL(server.url);
  const data = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, 'x'.repeat(100)]));
  await redis.mset(data);
  t.after(() => redis.del(...Object.keys(data)));
  const settings = ['masteruser', 'default', 'masterauth', 'secret', 'key-load-delay', '20000'];
  await admin.config('SET', ...settings, 'loading-process-events-interval-bytes', '1024');
  await admin.replicaof(hostname, port);
  await eventually(async () => /^loading:1/m.test(await admin.info('persistence')), 'a load');

  const link = await openLink(t, loading.url);
  const reasons: (string | undefined)[] = [];
  const store = new Store({
    url: link.url,
    timeoutMs: WITHIN_MS,
    onState: (up, reason) => !up && reasons.push(reason),
  });
  t.after(() => store.close());
  await eventually(() => reasons.length > 0, 'the cause');
  assert.match(reasons[0] ?? '', /^LOADING /);
  link.leadTo(server.url);
  await eventually(() => store.ready, 'a connection to the other one');
  assert.match(await admin.info('persistence'), /^loading:1/m);
});

/** Runs `body`, which has `connect`, `renew`, `Reader`, `sleep` and `url`, in a process of its own, and waits until that has ended. */
async function runs(url: string, body: string): Promise<string> {
  const code = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { connect, Reader, renew } from '${import.meta.resolve('./connection.ts')}';
    const url = ${JSON.stringify(url)};
    ${body}`;
  const args = ['--input-type=module', '-e', code];
  return (await promisify(execFile)(process.execPath, args, { timeout: 60_000 })).stdout;
}

// Regression: ioredis' own timer went on after a close in the middle of a refresh, and the process never ended.
test('a process ends once its connections to a Redis Cluster are closed, whenever that is', async (t) => {
  const { url, remove } = await startCluster();
  t.after(remove);
  const ends = runs(
    url('relay'),
    `const one = async (n) => {
      const redis = connect({ url, timeoutMs: 60_000 }, 60_000);
      while (redis.status !== 'ready') await sleep(1);
      await sleep(2000 + (n % 12));
      redis.disconnect();
    };
    await Promise.all(Array.from({ length: 120 }, (_, n) => one(n)));`,
  );
  assert.equal(await ends, '');
});

// Regression: a client without a node has no 'end' when it is closed, and our timer waited for that.
test('a process ends once its connections to a Redis Cluster that it never reached are closed', async () => {
  const ends = runs(
    'redis://127.0.0.1:1,127.0.0.1:2',
    `const one = async (n) => {
      const redis = connect({ url, timeoutMs: 60_000 }, 60_000);
      await sleep(20 * n);
      redis.disconnect();
    };
    await Promise.all(Array.from({ length: 50 }, (_, n) => one(n)));`,
  );
  assert.equal(await ends, '');
});

// Regression: a client without a node that was closed for a new connection never made one.
test('a connection to a Redis Cluster that was never reached goes on trying when it is renewed', async () => {
  const says = await runs(
    'redis://127.0.0.1:1,127.0.0.1:2',
    `const redis = connect({ url, timeoutMs: 60_000 }, 60_000);
    let tries = 0;
    redis.on('error', () => tries++);
    while (redis.status !== 'connecting') await sleep(1);
    renew(redis);
    const before = tries;
    for (let i = 0; i < 500 && tries === before; i++) await sleep(10);
    redis.disconnect();
    console.log(tries > before);`,
  );
  assert.equal(says, 'true\n');
});

// Regression: a claim that began as its queue was closed opened a connection that nobody closed.
test('a closed reader opens no connection', async () => {
  const ends = runs(
    server.as('relay'),
    `const reader = new Reader({ url, timeoutMs: 60_000 });
    reader.close();
    console.log(await reader.open().then(() => 'open', (error) => error.message));`,
  );
  assert.equal(await ends, 'connection closed\n');
});
