import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startCluster } from '../test/cluster.ts';
import { startRedis } from '../test/services.ts';

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
test('a closed reader opens no connection', async (t) => {
  const { as, service } = await startRedis();
  t.after(() => service.remove());
  const ends = runs(
    as('relay'),
    `const reader = new Reader({ url, timeoutMs: 60_000 });
    reader.close();
    console.log(await reader.open().then(() => 'open', (error) => error.message));`,
  );
  assert.equal(await ends, 'connection closed\n');
});
