import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TelemetryData } from '../common/telemetry.ts';
import type { Clock } from '../shared/clock.ts';
import { nginxConfig } from './nginx.ts';
import { type BrokerSys, redisFigures, type StackTelemetry, startStackTelemetry } from './telemetry.ts';
import { processUsage } from './usage.ts';
import { busyPercent, HAS_VMSTAT, parseHost, readHost, vmstat } from './vmstat.ts';

const STAT = (user: number, idle: number, switches: number) => `cpu  ${user} 10 20 ${idle} 5 1 2 3 0 0
cpu0 1 2 3 4 5 6 7 8 0 0
intr ${switches * 2} 0 0
ctxt ${switches}
procs_running 4
procs_blocked 1
`;
const VMSTAT = (pages: number) => `nr_free_pages 1\npswpin ${pages}\npswpout ${pages * 2}\n`;

test("vmstat's figures come from two readings", () => {
  const before = parseHost(1000, STAT(100, 1000, 5000), VMSTAT(10), 'MemTotal: 8 kB\nMemFree:  2048 kB\n');
  const now = parseHost(3000, STAT(150, 1150, 7000), VMSTAT(15), 'MemTotal: 8 kB\nMemFree:  1024 kB\n');
  assert.deepEqual(vmstat(before, now), {
    r: 4,
    b: 1,
    free_mb: 1.048576,
    si: 10,
    so: 20,
    in: 2000,
    cs: 1000,
    us: 25,
    sy: 0,
    id: 75,
    wa: 0,
    st: 0,
  });
});

// Regression: softirq was left out of the host's use, but not of its processes' use and of vmstat's figures.
// Two seconds of a host of 2 cores under 100 loopback connections: a third of the kernel's time is softirq.
const LOADED = [
  `cpu  36548 53 13275 55913 562 0 808 104 0 0
cpu0 17816 41 6094 29165 76 0 334 46 0 0
cpu1 18731 11 7180 26748 485 0 473 58 0 0
`,
  `cpu  36676 53 13477 55934 562 0 874 104 0 0
cpu0 17890 41 6188 29181 76 0 367 46 0 0
cpu1 18786 11 7289 26753 485 0 506 58 0 0
`,
];

test("the host's CPU use agrees with vmstat's figures, including interrupts", () => {
  const [before, now] = LOADED.map((stat, i) => parseHost(2000 * i, stat, '', ''));
  assert.ok(before && now);
  const { us = 0, sy = 0, id = 0 } = vmstat(before, now);
  const busy = busyPercent(before, now);
  assert.ok(Math.abs(busy - 2 * (us + sy)) < 1e-9);
  assert.ok(Math.abs(busy - 2 * (100 - id)) < 1e-9, 'without steal and wait: all that is not idle');
  assert.equal(busy.toFixed(1), '189.9');
});

test("steal is neither the host's CPU use nor idle time", () => {
  const stat = (user: number, steal: number) =>
    `cpu  ${user} 0 0 0 0 0 0 ${steal}\ncpu0 ${user} 0 0 0 0 0 0 ${steal}\n`;
  const [before, now] = [stat(0, 0), stat(60, 40)].map((text, i) => parseHost(1000 * i, text, '', ''));
  assert.ok(before && now);
  assert.equal(busyPercent(before, now), 60);
  assert.equal(vmstat(before, now).id, 0);
});

// Regression: they came from different sources, with 150 % of two cores beside 91 % busy.
test("the telemetry takes CPU use and vmstat's figures from one reading", { skip: !HAS_VMSTAT }, async () => {
  const { promise, resolve } = Promise.withResolvers<TelemetryData>();
  const record = async (name: string, _at: number, data: TelemetryData) => {
    if (name === 'host' && data.cpu_percent !== undefined) resolve(data);
  };
  const store = { ready: true, record } as unknown as StackTelemetry['store'];
  const queue = { depth: async () => 0 };
  const clock = { now: () => 0 } as Clock;
  const broker = { figures: () => undefined } as unknown as BrokerSys;
  const stop = startStackTelemetry({ store, queue, clock, servers: {}, broker });
  const { cpu_percent = 0, rss_mb = 0, gauges: { us = 0, sy = 0 } = {} } = await promise;
  stop();
  const cores = readHost()?.cores ?? 0;
  const rounding = 0.011 * cores;
  assert.ok(Math.abs(cpu_percent - cores * (us + sy)) <= rounding, `${cpu_percent} of ${us} and ${sy}`);
  assert.ok(rss_mb > 1);
});

test('readHost returns figures on Linux, and undefined elsewhere', () => {
  assert.equal(readHost() !== undefined, HAS_VMSTAT);
  const { cpu, free_kb, switches } = readHost() ?? { cpu: { idle: 1 }, free_kb: 1, switches: 1 };
  for (const figure of [cpu.idle, free_kb, switches]) assert.ok(figure > 0);
});

test('processUsage includes children, and is undefined after the end', { skip: !HAS_VMSTAT }, async () => {
  const child = spawn(process.execPath, ['-e', "process.stdin.resume(); console.log('up')"]);
  await once(child.stdout, 'data');
  const alone = processUsage(child.pid as number);
  const both = processUsage(process.pid);
  assert.ok(alone && both && both.rss_mb > alone.rss_mb && alone.rss_mb > 1);
  child.kill();
  await once(child, 'exit');
  assert.equal(processUsage(child.pid as number), undefined);
});

test("Redis' figures leave out missing fields", () => {
  const info =
    'used_memory:1500000\r\nused_memory_human:1.43M\r\nconnected_clients:7\r\ntotal_commands_processed:99\r\n' +
    'evicted_keys:0\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb1:keys=2,expires=0,avg_ttl=0\r\n';
  assert.deepEqual(redisFigures(info), {
    gauges: { used_memory_mb: 1.5, clients: 7, keys: 5 },
    counters: { commands: 99, evicted_keys: 0 },
  });
});

test('nginx sends a request once, to the ingests in turn, and keeps its files in its own folder', () => {
  const config = nginxConfig('/home', {
    port: 18080,
    ingests: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
    bodyLimit: 100,
  });
  for (const line of [
    'daemon off;',
    'pid "/home/nginx.pid";',
    'access_log off;',
    'client_body_temp_path "/home/client_body";',
    'client_max_body_size 200;',
    'server 127.0.0.1:1 max_fails=0;',
    'server 127.0.0.1:2 max_fails=0;',
    'listen 127.0.0.1:18080 backlog=4096;',
    'proxy_next_upstream error;',
    'proxy_http_version 1.1;',
    'proxy_set_header Connection "";',
  ])
    assert.ok(config.includes(line), line);
  assert.doesNotMatch(config, /non_idempotent|timeout error|error timeout/);
});
