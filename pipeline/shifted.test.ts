import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Load } from './faults/load.ts';
import { secret } from './stack/access.ts';
import { freePort } from './stack/ports.ts';
import { Supervised } from './stack/process.ts';
import { remove, startBroker, startRedis, temporaryDirectory } from './test/services.ts';

/** Moves the clock of a process that it is loaded into; Debian's package faketime has it. */
const [FAKETIME = ''] = globSync('/usr/lib{/*,64,}/faketime/libfaketime.so.1');
const skip = existsSync(FAKETIME) ? false : 'libfaketime is not installed (npm run setup -- --test)';

test('an ingest 3 s ahead and a relay 0.4 s behind: stages as on one clock, within the bound', {
  skip,
}, async (t) => {
  const dir = await temporaryDirectory();
  const [redis, broker] = await Promise.all([startRedis(), startBroker()]);
  const started: Supervised[] = [];
  t.after(async () => {
    for (const process of started) await process.stop(0);
    await redis.service.remove();
    await broker.service.remove();
    await remove(dir);
  });
  const [port, token] = [await freePort(), secret()];
  const start = async (
    name: string,
    script: string,
    ready: RegExp,
    shift: string,
    env: Record<string, string>,
  ) => {
    const clock = {
      LD_PRELOAD: FAKETIME,
      FAKETIME: shift,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
    const common = { PROCESS_NAME: name, QUEUE: 'stream', TLS_CA: '', HEALTH_PORT: '0', ...clock };
    const args = [join(import.meta.dirname, script)];
    const process_ = await Supervised.start(
      { name, command: process.execPath, args, env: { ...common, ...env } },
      { logs: dir },
    );
    started.push(process_);
    await process_.says(ready, 60_000);
  };
  await Promise.all([
    start('ingest-1', 'ingest/server.ts', /listening at/, '+3s', {
      REDIS_URL: redis.as('ingest'),
      INGEST_PORT: String(port),
      INGEST_TOKEN: token,
    }),
    start('relay-1', 'relay/main.ts', /relaying as/, '-0.4s', {
      REDIS_URL: redis.as('relay'),
      MQTT_URL: broker.url('relay'),
    }),
  ]);
  const ingest = { url: `http://127.0.0.1:${port}`, token };
  const mqtt = { url: broker.url('subscriber') };
  const load = await Load.start(
    { rate: 200, seconds: 3, ingest, mqtt, redis: { url: redis.as('reader') } },
    join(dir, 'run'),
    dir,
  );
  t.after(() => load.stop());
  const { account, clock, latency } = await load.result();
  assert.ok(clock);
  const offsets = Object.fromEntries((clock.processes ?? []).map((one) => [one.process, one]));
  for (const [name, shift] of [
    ['ingest-1', -3000],
    ['relay-1', 400],
  ] as const) {
    const { offset_ms = 0, bound_ms = 0 } = offsets[name] ?? {};
    // What the wall clock's tick was noticed late by comes on top of the bound.
    assert.ok(
      Math.abs(offset_ms - shift) <= bound_ms + 50,
      `${name}: ${offset_ms} ms ± ${bound_ms}, told ${shift}`,
    );
  }
  assert.deepEqual([account.scheduled, account.arrived, account.negative], [600, 600, 0]);
  const stages = Object.values(latency.stages);
  const sum = stages.reduce((total, { mean }) => total + (mean ?? 0), 0);
  assert.ok(
    Math.abs(sum - (latency.arrival.mean ?? 0)) < 0.01,
    `stages ${sum}, arrival ${latency.arrival.mean}`,
  );
  for (const [name, { min }] of Object.entries(latency.stages)) {
    assert.ok((min ?? 0) >= -(clock.bound_ms ?? 0) - 0.001, `${name} from ${min} ms`);
  }
  // A shift that was not taken out would stand in these three, and none of them would sum up without it.
  const slowest = latency.arrival.max ?? 0;
  for (const name of ['request', 'queue', 'delivery'] as const) {
    const { max } = latency.stages[name] ?? {};
    assert.ok((max ?? 0) <= slowest + 2 * (clock.bound_ms ?? 0), `${name} up to ${max} ms of ${slowest}`);
  }
});
