/** A queue in shards on a Redis Cluster, under load. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { secret } from '../../pipeline/stack/access.ts';
import { freePort } from '../../pipeline/stack/ports.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { startCluster } from '../../pipeline/test/cluster.ts';
import { eventually, remove, startBroker, temporaryDirectory } from '../../pipeline/test/services.ts';
import { sumOfAccounts } from '../../reports/account.ts';
import { readRun } from '../../reports/comparison/recording.ts';
import type { Interval } from '../../reports/contract/run.ts';
import { Instances } from '../run/instances.ts';

const LOAD = join(import.meta.dirname, '../../pipeline/test/faults/load.js');

test('Redis Cluster of three: a killed relay loses and reorders nothing from two generators', async (t) => {
  const dir = await temporaryDirectory();
  const [cluster, broker] = await Promise.all([startCluster(), startBroker()]);
  const processes: Supervised[] = [];
  t.after(async () => {
    for (const process of processes) await process.stop(0);
    await cluster.remove();
    await broker.service.remove();
    await remove(dir);
  });
  const start = async (name: string, script: string, ready: RegExp, env: Record<string, string>) => {
    const args = [join(import.meta.dirname, '../../pipeline', script)];
    const shared = { PROCESS_NAME: name, STREAM_SHARDS: '6', QUEUE: 'stream', TLS_CA: '', HEALTH_PORT: '0' };
    const launch = { name, command: process.execPath, args, env: { ...shared, ...env } };
    const started = await Supervised.start(launch, { logs: dir });
    processes.push(started);
    await started.says(ready, 60_000);
    return started;
  };
  const [port, token] = [await freePort(), secret()];
  const relay = { REDIS_URL: cluster.url('relay'), MQTT_URL: broker.url('relay'), RELAY_LEASE_MS: '2000' };
  const [first] = await Promise.all([
    start('relay-1', 'relay/main.ts', /relaying as/, relay),
    start('relay-2', 'relay/main.ts', /relaying as/, relay),
    start('ingest-1', 'ingest/server.ts', /listening at/, {
      REDIS_URL: cluster.url('ingest'),
      INGEST_PORT: String(port),
      INGEST_TOKEN: token,
    }),
  ]);
  const mqtt = { url: broker.url('subscriber') };
  const ingest = { url: `http://127.0.0.1:${port}`, token };
  const reader = { url: cluster.url('reader') };
  // Each has one sender: two could overtake each other before the ingest.
  const options = {
    rate: 400,
    seconds: 5,
    senders: 2,
    maxSenders: 2,
    ingest,
    mqtt,
    redis: reader,
    canary: false,
  };
  const env = { FAULT_LOAD: JSON.stringify({ batch: 1, fill: 0, ...options }), RUN_DIR: join(dir, 'run') };
  const each = [
    { args: [], env: {} },
    { args: [], env: {} },
  ];
  const generators = new Instances(LOAD, env, each, process);
  t.after(() => generators.signal('SIGKILL'));
  const parts = [1, 2].map((n) => join(dir, `run/generator-${n}`));
  const received = async (part: string) => {
    const text = await readFile(join(part, 'timeline.ndjson'), 'utf8').catch(() => '');
    const seconds: Interval[] = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    return seconds.some(({ t, arrived }) => t > 0 && arrived > 0);
  };
  await eventually(
    async () => (await Promise.all(parts.map(received))).every(Boolean),
    'a second with arrivals from both generators',
  );
  first.signal('SIGKILL');
  await generators.ended;
  const runs = await Promise.all(parts.map((part) => readRun(part)));
  const account = sumOfAccounts(runs.map((run) => run.account));
  assert.deepEqual(
    { ...account, duplicates: 0 },
    {
      ...account,
      scheduled: 2000,
      arrived: 2000,
      lost: 0,
      queued: 0,
      unknown: 0,
      rejected: 0,
      duplicates: 0,
      reordered: 0,
    },
  );
  const counts = await Promise.all(
    cluster.nodes.map(async (node) => Number(/^db0:keys=(\d+)/m.exec(await node.info('keyspace'))?.[1] ?? 0)),
  );
  assert.ok(
    counts.every((count) => count > 0),
    `keys on each node: ${counts.join(', ')}`,
  );
});
