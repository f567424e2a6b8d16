import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Run } from '../../reports/contract/run.ts';
import { GENERATOR, Lab, PIPELINE } from '../../scenarios/lab/lab.ts';
import { lacks } from '../../scenarios/test/harness.ts';
import { Load } from '../test/faults/load.ts';
import {
  HERE,
  type Host,
  launchedOn,
  remove,
  startBroker,
  startRedis,
  temporaryDirectory,
} from '../test/services.ts';
import { secret } from './access.ts';
import { freePort } from './ports.ts';
import { Supervised } from './process.ts';

/** The library that shifts the clock of a process (Debian's faketime). */
const [FAKETIME = ''] = globSync('/usr/lib{/*,64,}/faketime/libfaketime.so.1');
const skip = existsSync(FAKETIME) ? false : 'libfaketime is not installed (npm run setup -- --test)';

interface Shifts {
  ingest: string;
  relay: string;
}

/** Where the processes run. k6 runs beside Redis and the broker. */
interface Hosts {
  servers: Host;
  ingest: Host;
  relay: Host;
}

/** A network namespace each, the relay's between the others. Without namespaces all run on this host. */
async function openHosts(t: TestContext): Promise<Hosts> {
  const refusal = lacks('network namespaces');
  if (refusal !== null) {
    t.diagnostic(`on one host, without network namespaces: ${refusal}`);
    return { servers: HERE, ingest: HERE, relay: HERE };
  }
  const opened = await Lab.open();
  t.after(() => opened.close());
  return {
    servers: { address: GENERATOR, within: opened.within('generator') },
    ingest: { address: PIPELINE, within: opened.within('pipeline') },
    relay: { address: '', within: opened.within('router') },
  };
}

/** A small load on an ingest and a relay with shifted clocks, by default the machine's. */
async function run(t: TestContext, hosts: Hosts, shifts?: Shifts): Promise<Run> {
  const dir = await temporaryDirectory();
  const [redis, broker] = await Promise.all([
    startRedis(undefined, hosts.servers),
    startBroker(undefined, hosts.servers),
  ]);
  const started: Supervised[] = [];
  t.after(async () => {
    for (const process of started) await process.stop(0);
    await redis.service.remove();
    await broker.service.remove();
    await remove(dir);
  });
  const [port, token] = [await freePort(), secret()];
  const start = async (role: keyof Shifts, script: string, ready: RegExp, env: Record<string, string>) => {
    const name = `${role}-1`;
    const clock = shifts && {
      LD_PRELOAD: FAKETIME,
      FAKETIME: shifts[role],
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
    const common = { PROCESS_NAME: name, QUEUE: 'stream', TLS_CA: '', HEALTH_PORT: '0', ...clock };
    const args = [join(import.meta.dirname, '..', script)];
    const launch = { name, command: process.execPath, args, env: { ...common, ...env } };
    const process_ = await Supervised.start(launchedOn(hosts[role], launch), { logs: dir });
    started.push(process_);
    await process_.says(ready, 60_000);
  };
  await Promise.all([
    start('ingest', 'ingest/server.ts', /listening at/, {
      REDIS_URL: redis.as('ingest'),
      INGEST_HOST: hosts.ingest.address,
      INGEST_PORT: String(port),
      INGEST_TOKEN: token,
    }),
    start('relay', 'relay/main.ts', /relaying as/, {
      REDIS_URL: redis.as('relay'),
      MQTT_URL: broker.url('relay'),
    }),
  ]);
  const networks = await Promise.all(
    [process.pid, ...started.map(({ pid }) => pid)].map((pid) => readlink(`/proc/${pid}/ns/net`)),
  );
  assert.equal(new Set(networks).size, hosts.ingest === HERE ? 1 : 3, networks.join());
  const ingest = { url: `http://${hosts.ingest.address}:${port}`, token };
  const mqtt = { url: broker.url('subscriber') };
  const load = await Load.start(
    { rate: 200, seconds: 2, ingest, mqtt, redis: { url: redis.as('reader') } },
    join(dir, 'run'),
    dir,
    hosts.servers.within,
  );
  t.after(() => load.stop());
  return load.result();
}

/** How late a tick of the wall clock may be noticed, beyond the bound. */
const TICK_MS = 2;

test('an ingest 3 s ahead and a relay 0.4 s behind change no stage beyond the clock bound', {
  skip,
}, async (t) => {
  const hosts = await openHosts(t);
  const [plain, shifted] = await Promise.all([
    run(t, hosts),
    run(t, hosts, { ingest: '+3s', relay: '-0.4s' }),
  ]);
  for (const [{ clock, account, latency }, shifts] of [
    [plain, { 'ingest-1': 0, 'relay-1': 0 }],
    [shifted, { 'ingest-1': -3000, 'relay-1': 400 }],
  ] as const) {
    let bound = clock?.bound_ms ?? Number.NaN;
    for (const [name, shift] of Object.entries(shifts)) {
      const found = clock?.processes?.find(({ process }) => process === name);
      const { offset_ms, bound_ms } = found ?? { offset_ms: Number.NaN, bound_ms: Number.NaN };
      assert.ok(
        Math.abs(offset_ms - shift) <= bound_ms + TICK_MS,
        `${name}: ${offset_ms} ms ± ${bound_ms}, true ${shift}`,
      );
      bound = Math.max(bound, bound_ms);
    }
    assert.deepEqual([account.scheduled, account.arrived], [400, 400]);
    // A wrong clock lengthens one stage and shortens its neighbour, even below zero.
    for (const [name, { min }] of Object.entries(latency.stages))
      assert.ok((min ?? Number.NaN) >= -(2 * bound + TICK_MS), `${name}: ${min} ms, bound ${bound}`);
    const stages = Object.values(latency.stages);
    const sum = stages.reduce((total, { mean }) => total + (mean ?? 0), 0);
    assert.ok(
      Math.abs(sum - (latency.arrival.mean ?? 0)) < 0.01,
      `stages ${sum}, arrival ${latency.arrival.mean}`,
    );
  }
});
