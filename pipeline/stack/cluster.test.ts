import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { execa } from 'execa';
import { connectAsync } from 'mqtt';
// @ts-expect-error it has no types
import parsePrometheus from 'parse-prometheus-text-format';
import { latencyOf, type Resource, type Run } from '../../reports/contract/run.ts';
import { validateRun } from '../../reports/contract/validate.ts';
import type { Problem } from '../common/readiness.ts';
import { readConfig, StackConfig } from '../shared/config.ts';
import { promtool } from '../test/promtool.ts';
import { eventually, remove, temporaryDirectory } from '../test/services.ts';
import { isAlive, type StackFile } from './file.ts';
import { requireNginx } from './nginx.ts';
import { Stack } from './stack.ts';

const ROOT = join(import.meta.dirname, '../..');
const BODY_LIMIT = 10_000;
/**
 * 100 + 300 + 4 * 500 requests in 6 s. Mosquitto's figures are up to 3 s old: it publishes them every two
 * seconds, and they are recorded every second.
 */
const SHORT = ['PROFILE=profiles/smoke.yml', 'RAMP_DURATION=1', 'SUSTAINED_DURATION=4', 'P99=60000'].flatMap(
  (setting) => ['-e', setting],
);

let dir: string;
let stack: Stack;
let file: StackFile;
before(async () => {
  dir = await temporaryDirectory();
  const ports = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0' };
  process.env.BODY_LIMIT = String(BODY_LIMIT);
  stack = await Stack.start(
    readConfig(StackConfig, {
      ...ports,
      STACK_DIR: dir,
      TOPOLOGY: 'cluster',
      RELAY_WORKERS: '2',
      STREAM_SHARDS: '4',
      BROKERS: '2',
      BRIDGE: 'true',
    }),
  );
  file = stack.file;
});
after(async () => {
  await stack?.stop(0);
  await remove(dir);
});

/** A short run against the running stack. */
function ramp(env: Record<string, string> = {}) {
  return execa(process.execPath, ['scenarios/run/run.ts', 'scenarios/ramp.js', ...SHORT], {
    cwd: ROOT,
    env: { STACK_DIR: dir, ...env },
    reject: false,
    all: true,
  });
}

const authorized = () => ({
  authorization: `Bearer ${file.ingest.token}`,
  'content-type': 'application/json',
});

interface Metric {
  name: string;
  metrics: { value?: string; count?: string }[];
}

async function scrape(process: string): Promise<string> {
  const response = await fetch(`${file.health[process]}/metrics`);
  assert.equal(response.status, 200);
  return response.text();
}

/** The value of a metric, or the count of a histogram. */
async function value(process: string, name: string): Promise<number> {
  const metrics: Metric[] = parsePrometheus(await scrape(process));
  const found = metrics.find((metric) => metric.name === name);
  assert.ok(found, `${process} has ${name}`);
  const [first] = found.metrics;
  return Number(first?.value ?? first?.count);
}

test('a run through the cluster has a balanced account and uses every worker', async () => {
  assert.deepEqual(Object.keys(file.processes).sort(), [
    'ingest-1',
    'ingest-2',
    'mosquitto',
    'mosquitto-2',
    'nginx',
    'redis',
    'relay-1',
    'relay-2',
  ]);
  const { all, stdout } = await ramp();
  const page = /^ *report +(\S+)\/index\.html$/m.exec(stdout)?.[1];
  assert.ok(page, all);
  const runDir = join(ROOT, page);
  try {
    assert.match(page, /\/ramp-cluster-loopback-\d{8}T\d{6}Z$/);
    const run: Run = JSON.parse(await readFile(join(runDir, 'run.json'), 'utf8'));
    assert.deepEqual(validateRun(run), []);
    const { account, environment, latency, resources } = run;
    assert.equal(account.requests.sent, 2400);
    assert.ok(account.scheduled > 4000);
    assert.equal(account.arrived, account.scheduled);
    assert.ok(account.balanced);
    // Relays publish to one broker, k6 subscribes at the other, and the bridge passes the stamps.
    assert.notEqual(new URL(file.mqtt.url).port, new URL(file.stages.mqttUrl).port);
    assert.equal(latencyOf(latency, 'delivery').count, latency.arrival.count);
    assert.equal(run.run.topology, 'cluster');
    assert.deepEqual(environment.pipeline, file.facts);
    checkFigures(resources);
  } finally {
    await remove(runDir);
  }
  const accepted = await Promise.all(
    ['ingest-1', 'ingest-2'].map((name) => value(name, 'arrival_ingest_messages_accepted_total')),
  );
  const total = accepted.reduce((sum, count) => sum + count, 0);
  assert.ok(total >= 4000, `${accepted} are all messages, and the canary's and the probe`);
  for (const count of accepted) assert.ok(count > total / 4, `shared out: ${accepted}`);
  const timed = ['ingest-1', 'ingest-2'].map((name) => value(name, 'arrival_ingest_seconds'));
  assert.deepEqual(await Promise.all(timed), accepted);
  for (const name of ['relay-1', 'relay-2']) {
    const [claimed = 0, recovered = 0, waited] = await Promise.all(
      [
        'arrival_relay_messages_claimed_total',
        'arrival_relay_messages_recovered_total',
        'arrival_queue_seconds',
      ].map((metric) => value(name, metric)),
    );
    assert.equal(waited, claimed + recovered, name);
  }
});

test('two relays and the bridge keep the order of each target', async (t) => {
  const { url, username, password } = file.mqtt;
  const client = await connectAsync(url, { username, password, protocolVersion: 5, reconnectPeriod: 0 });
  t.after(() => client.endAsync(true));
  const targets = Array.from({ length: 20 }, (_, i) => `order/${i}`);
  const numbers = Array.from({ length: 50 }, (_, n) => n);
  const arrived = new Map<string, number[]>(targets.map((target) => [`messages/${target}`, []]));
  client.on('message', (topic, body) => arrived.get(topic)?.push(JSON.parse(String(body)).payload));
  await client.subscribeAsync('messages/order/#', { qos: 1 });
  const shards = () => Promise.all(['relay-1', 'relay-2'].map((name) => value(name, 'arrival_relay_shards')));
  await eventually(async () => `${await shards()}` === '2,2', 'two of four shards with each relay');
  for (const n of numbers) {
    const messages = targets.map((target) => ({ id: `order.${target}.${n}`, target, payload: n }));
    const answer = await fetch(`${file.ingest.url}/messages/batch`, {
      method: 'POST',
      headers: authorized(),
      body: JSON.stringify(messages),
    });
    assert.equal(answer.status, 202);
  }
  await eventually(
    () => [...arrived.values()].every(({ length }) => length >= numbers.length),
    'every message',
  );
  for (const [topic, order] of arrived) assert.deepEqual(order, numbers, topic);
});

/** Checks the figures of all processes in the run. */
function checkFigures(resources: Resource[]): void {
  const of = (process: string) => {
    const figures = resources.find((resource) => resource.process === process)?.figures;
    assert.ok(figures, `${process} has figures`);
    return figures;
  };
  const sum = (process: string, count: string) => {
    const column = of(process).counts[count];
    assert.ok(column, `${process} counts ${count}`);
    return column.reduce((total: number, each) => total + (each ?? 0), 0);
  };
  for (const name of ['ingest-1', 'ingest-2']) assert.ok(sum(name, 'accepted') > 100, name);
  for (const name of ['relay-1', 'relay-2']) {
    assert.ok(sum(name, 'published') > 0, name);
    assert.ok(of(name).gauges.event_loop_p99_ms);
  }
  assert.ok(sum('redis', 'commands') > 100);
  for (const gauge of ['used_memory_mb', 'ops_per_s', 'clients', 'keys', 'backlog', 'aof_mb'])
    assert.ok(of('redis').gauges[gauge], gauge);
  assert.ok(sum('mosquitto', 'messages_received') > 100);
  assert.equal(sum('mosquitto', 'messages_dropped'), 0);
  for (const gauge of ['clients', 'stored_messages']) assert.ok(of('mosquitto').gauges[gauge], gauge);
  if (process.platform !== 'linux') return;
  assert.ok(resources.some((resource) => resource.process === 'nginx' && resource.cpu_percent.max !== null));
  const host = of('host').gauges;
  assert.deepEqual(
    ['r', 'b', 'free_mb', 'si', 'so', 'in', 'cs', 'us', 'sy', 'id', 'wa', 'st'].filter((name) => !host[name]),
    [],
  );
  assert.ok((host.cs ?? []).some((each) => each !== null && each > 0));
}

// Regression: settings except TOPOLOGY were ignored. `QUEUE=list npm run smoke` passed and measured a stream.
test('settings that the running pipeline does not have are refused in one message', async () => {
  const others = {
    RELAY_MODE: 'serial',
    MQTT_QOS: '0',
    QUEUE: 'list',
    BODY_LIMIT: '20000',
    TOPOLOGY: 'single',
  };
  const same = {
    RELAY_WORKERS: '2',
    INGEST_WORKERS: '2',
    BRIDGE: 'true',
    INGEST_PORT: '0',
  };
  const { exitCode, all } = await ramp({ ...others, ...same, INGEST_TOKEN: 'not-a-token-of-it' });
  assert.equal(exitCode, 1);
  const lines = String(all).split('\n');
  const rows = lines.flatMap((line) => /^ {2}([A-Z_]+) +(.*)$/.exec(line)?.slice(1).join(' ') ?? []);
  assert.deepEqual(rows.sort(), [
    'BODY_LIMIT 20000 asked for, 10000 up',
    'INGEST_TOKEN another one asked for than the ingest takes',
    'MQTT_QOS 0 asked for, 1 up',
    'QUEUE list asked for, stream up',
    'RELAY_MODE serial asked for, pipelined up',
    'TOPOLOGY single asked for, cluster up',
  ]);
  const [command = ''] = /start it with: .*/.exec(String(all)) ?? [];
  for (const setting of ['MQTT_QOS=0', 'QUEUE=list', 'STREAM_SHARDS=4', `STACK_DIR=${dir}`])
    assert.ok(command.includes(`${setting} `), command);
  assert.doesNotMatch(String(all), /not-a-token-of-it/);
  assert.ok(!String(all).includes(file.ingest.token));
});

test("a client sees the ingest's answers, not nginx's", async () => {
  const post = async (body: string) => {
    const response = await fetch(`${file.ingest.url}/messages`, {
      method: 'POST',
      headers: authorized(),
      body,
    });
    return [response.status, ((await response.json()) as { error?: string }).error] as const;
  };
  assert.equal((await post('{"id":"a"}'))[0], 400);
  const tooLarge = `the body exceeds the limit of ${BODY_LIMIT} bytes`;
  // Refused by an ingest, and beyond twice the limit by nginx.
  for (const size of [BODY_LIMIT + 1, BODY_LIMIT * 3])
    assert.deepEqual(await post(JSON.stringify({ id: 'a', target: 'b', text: 'x'.repeat(size) })), [
      413,
      tooLarge,
    ]);
  const unknown = await fetch(`${file.ingest.url}/metrics`);
  assert.equal(unknown.status, 404);
  assert.equal((await fetch(`${file.ingest.url}/readyz`)).status, 200);
});

/** The unit in a metric's name. `up` is 0 or 1. */
const UNIT = /_(seconds|bytes|messages|requests|answers|entries|writes|shards|problems|up)(_|$)/;

// prom-client's default metrics have gauges named like counters, which the registry leaves out.
test('`promtool check metrics` finds no problem in a scrape, and each name has a unit', async () => {
  for (const name of Object.keys(file.health)) {
    const text = await scrape(name);
    const own = [...text.matchAll(/^# TYPE (arrival_\w+)/gm)].map(([, metric = '']) => metric);
    assert.ok(own.length >= (name.startsWith('ingest') ? 6 : 10), `${name}: ${own.length}`);
    for (const metric of own) assert.match(metric, UNIT);
    await promtool(['check', 'metrics'], text);
    assert.ok((await value(name, 'process_resident_memory_bytes')) > 1e6);
    assert.ok(Number.isFinite(await value(name, 'nodejs_eventloop_lag_seconds')));
    assert.equal(await value(name, 'arrival_redis_up'), 1);
    await eventually(async () => (await value(name, 'arrival_queue_messages')) === 0, 'an empty queue');
  }
  assert.equal(await value('relay-1', 'arrival_mqtt_up'), 1);
});

test('all processes are alive and ready; without Redis they stay ready, and name it', async () => {
  const readiness = () =>
    Promise.all(
      Object.entries(file.health).map(async ([name, url]) => {
        assert.equal((await fetch(`${url}/livez`)).status, 200, name);
        const response = await fetch(`${url}/readyz`);
        const facts = (await response.json()) as { problems: Problem[]; mqtt?: boolean };
        return { name, ...facts, status: response.status };
      }),
    );
  for (const each of await readiness()) {
    assert.deepEqual([each.status, each.problems], [200, []], JSON.stringify(each));
  }
  process.kill(file.processes.redis as number, 'SIGSTOP');
  try {
    await eventually(
      async () => (await readiness()).every(({ problems }) => problems.length > 0),
      'the loss',
      30_000,
    );
    for (const { name, status, problems, mqtt } of await readiness()) {
      assert.deepEqual([status, problems[0]?.kind], [200, 'shared'], name);
      assert.match(problems[0]?.problem ?? '', /Redis/, name);
      assert.match(await scrape(name), /^arrival_problems\{kind="shared"\} [1-9]/m);
      if (name.startsWith('relay')) assert.equal(mqtt, true);
    }
  } finally {
    process.kill(file.processes.redis as number, 'SIGCONT');
  }
  await eventually(
    async () => (await readiness()).every(({ problems }) => problems.length === 0),
    'a recovery',
    30_000,
  );
});

test('the end of one ingest is reported and ends the whole stack, nginx too', async () => {
  process.kill(file.processes['ingest-2'] as number, 'SIGKILL');
  const failure = await stack.failed;
  assert.equal(failure.message, 'ingest-2 was killed by SIGKILL');
  await stack.stop(0);
  for (const [name, pid] of Object.entries(file.processes)) assert.ok(!isAlive(pid), name);
  assert.ok(!existsSync(join(dir, 'nginx/nginx.pid')));
});

test('without nginx the error is one line with the install command', async () => {
  await assert.rejects(
    requireNginx('no-such-nginx'),
    /^Error: nginx is not installed, .*TOPOLOGY=cluster npm run setup, or .*install.* nginx$/,
  );
});
