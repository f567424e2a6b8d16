import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Run } from '../reports/run.ts';
import { GENERATOR, Lab, PIPELINE } from '../scenarios/matrix/lab.ts';
import { Load } from './faults/load.ts';
import { secret } from './stack/access.ts';
import { freePort } from './stack/ports.ts';
import { Supervised } from './stack/process.ts';
import {
  HERE,
  type Host,
  launchedOn,
  remove,
  startBroker,
  startRedis,
  temporaryDirectory,
} from './test/services.ts';

/** Moves the clock of a process that it is loaded into; Debian's package faketime has it. */
const [FAKETIME = ''] = globSync('/usr/lib{/*,64,}/faketime/libfaketime.so.1');
const skip = existsSync(FAKETIME) ? false : 'libfaketime is not installed (npm run setup -- --test)';

interface Shifts {
  ingest: string;
  relay: string;
}

/** Where the processes run; k6 is where Redis and the broker are. */
interface Hosts {
  servers: Host;
  ingest: Host;
  relay: Host;
}

/** A network namespace for each, the relay's on the way between the others'. Where there can be none all are on this host. */
async function openHosts(t: TestContext): Promise<Hosts> {
  const opened = await (async () => {
    const refusal = Lab.refusal();
    return refusal ?? (await Lab.open().catch(({ message }: Error) => message));
  })();
  if (typeof opened === 'string') {
    t.diagnostic(`on one host, without network namespaces: ${opened}`);
    return { servers: HERE, ingest: HERE, relay: HERE };
  }
  t.after(() => opened.close());
  return {
    servers: { address: GENERATOR, within: opened.within('generator') },
    ingest: { address: PIPELINE, within: opened.within('pipeline') },
    relay: { address: '', within: opened.within('router') },
  };
}

/** A small load on an ingest and a relay with these clocks; none: the machine's. */
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
    const args = [join(import.meta.dirname, script)];
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

/** What the wall clock's tick may be noticed late by; it comes on top of the bound. */
const TICK_MS = 2;

const boundOf = ({ clock }: Run) => clock?.bound_ms ?? Number.NaN;

test('an ingest 3 s ahead and a relay 0.4 s behind, each on a host of its own: stages as on one clock, within the bound', {
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
    for (const [name, shift] of Object.entries(shifts)) {
      const found = clock?.processes?.find(({ process }) => process === name);
      const { offset_ms, bound_ms } = found ?? { offset_ms: Number.NaN, bound_ms: Number.NaN };
      assert.ok(
        Math.abs(offset_ms - shift) <= bound_ms + TICK_MS,
        `${name}: ${offset_ms} ms ± ${bound_ms}, told ${shift}`,
      );
    }
    assert.deepEqual([account.scheduled, account.arrived, account.negative], [400, 400, 0]);
    const stages = Object.values(latency.stages);
    const sum = stages.reduce((total, { mean }) => total + (mean ?? 0), 0);
    assert.ok(
      Math.abs(sum - (latency.arrival.mean ?? 0)) < 0.01,
      `stages ${sum}, arrival ${latency.arrival.mean}`,
    );
  }
  // The fastest message is hardly later on a busy machine; a clock that is off would stand in its stages.
  const [a, b] = [plain.latency, shifted.latency];
  const allowed = boundOf(plain) + boundOf(shifted) + Math.abs((b.arrival.min ?? 0) - (a.arrival.min ?? 0));
  for (const name of ['request', 'queue', 'delivery'] as const) {
    const moved = Math.abs((b.stages[name]?.min ?? Number.NaN) - (a.stages[name]?.min ?? Number.NaN));
    assert.ok(moved <= allowed, `${name} moved by ${moved} ms, allowed are ${allowed}`);
  }
});
