import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, type TestContext, test } from 'node:test';
import { Redis } from 'ioredis';
import { connectAsync } from 'mqtt';
import { readConfig, StackConfig } from '../shared/config.ts';
import { FREE, PipelineCommand, refusalOf } from '../test/command.ts';
import { eventually, remove, startBroker, startRedis, temporaryDirectory } from '../test/services.ts';
import { claimDirectory } from './directory.ts';
import { isAlive, type StackFile } from './file.ts';
import { freePort } from './ports.ts';
import { Stack } from './stack.ts';

let dir: string;
let stackDir: string;
beforeEach(() => {
  stackDir = join(dir, `stack-${Math.random().toString(36).slice(2)}`);
});
before(async () => {
  dir = await temporaryDirectory();
});
after(() => remove(dir));

/** `npm run pipeline` in its own directory. */
class Command extends PipelineCommand {
  constructor(t: TestContext, env: Record<string, string> = {}, args: readonly string[] = []) {
    super(t, { STACK_DIR: stackDir, ...env }, args);
  }
}

const refusal = (env: Record<string, string> = {}) => refusalOf({ STACK_DIR: stackDir, ...env });

/** A pipeline that this process starts; it ends with the test. */
async function up(t: TestContext, env: Record<string, string> = {}): Promise<Stack> {
  const config = readConfig(StackConfig, { STACK_DIR: stackDir, ...FREE, ...env });
  const stack = await Stack.start(config, {}, { leftovers: 'keep' });
  t.after(() => stack.stop());
  return stack;
}

/** Waits until all processes are gone. Init reaps those whose parent was killed. */
async function gone(stack: StackFile): Promise<void> {
  for (const [name, pid] of Object.entries(stack.processes)) {
    await eventually(() => !isAlive(pid), `the end of ${name}`);
  }
}

async function post(stack: StackFile, message: object): Promise<number> {
  const response = await fetch(`${stack.ingest.url}/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.ingest.token}`,
      'content-type': 'application/json',
      // An ingest that stops waits for clients that keep their connection.
      connection: 'close',
    },
    body: JSON.stringify(message),
  });
  return response.status;
}

/** The CPUs that a process may run on, as Linux lists them. */
const cpusOf = async (pid: number) =>
  /^Cpus_allowed_list:\s*(\S+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] as string;

test('the stack starts, delivers a message, and leaves nothing after Ctrl-C', async (t) => {
  const cpus = process.platform === 'linux' ? await cpusOf(process.pid) : undefined;
  const one = cpus && `${Number.parseInt(cpus, 10)}`;
  const pinned = one && { CPU_AFFINITY: `relay=${one} redis=${one}` };
  const command = new Command(t, { RELAY_WORKERS: '2', INGEST_WORKERS: '2', ...pinned });
  const stack = await command.ready();
  assert.deepEqual(Object.keys(stack.processes).sort(), [
    'ingest-1',
    'ingest-2',
    'mosquitto',
    'redis',
    'relay-1',
    'relay-2',
  ]);
  if (cpus) {
    for (const [name, pid] of Object.entries(stack.processes)) {
      assert.equal(await cpusOf(pid), /^re/.test(name) ? one : cpus, name);
    }
  }
  const [, nice] = /^drain, \w+ at nice (-?\d+)/.exec(String(stack.facts.priority)) ?? [];
  const ahead = Number(nice) < 0;
  for (const [name, pid] of Object.entries(stack.processes)) {
    const expected = ahead === !name.startsWith('ingest') ? Number(nice) : getPriority();
    assert.equal(getPriority(pid), expected, name);
  }
  assert.equal((await stat(join(stackDir, 'stack.json'))).mode & 0o777, 0o600);
  assert.equal((await stat(stackDir)).mode & 0o777, 0o700);

  const { url, username, password } = stack.mqtt;
  const subscriber = await connectAsync(url, { username, password, protocolVersion: 5 });
  await subscriber.subscribeAsync('messages/#');
  const arrived = new Promise<[string, Buffer]>((resolve) => {
    subscriber.once('message', (topic, payload) => resolve([topic, payload]));
  });
  assert.equal(await post(stack, { id: 'r.1.1', target: 'user/1' }), 202);
  const [topic, payload] = await arrived;
  assert.equal(topic, 'messages/user/1');
  assert.equal(payload.toString(), '{"id":"r.1.1","target":"user/1"}');
  await subscriber.endAsync(true);

  assert.equal(await command.stop('SIGINT'), 0);
  await gone(stack);
  assert.ok(!existsSync(join(stackDir, 'stack.json')));
});

test('the broker refuses a client without a password, and topics that a client may not use', async (t) => {
  const { mqtt } = (await up(t)).file;
  await assert.rejects(connectAsync(mqtt.url, { protocolVersion: 5, reconnectPeriod: 0 }), /Not authorized/);
  const client = await connectAsync(mqtt.url, {
    username: mqtt.username,
    password: mqtt.password,
    protocolVersion: 5,
  });
  await assert.rejects(client.publishAsync('messages/user/1', 'forged', { qos: 1 }), /Not authorized/);
  await client.endAsync(true);
});

test('a dead process is reported with its last lines, and the stack stops with exit code 1', async (t) => {
  const command = new Command(t);
  const stack = await command.ready();
  process.kill(stack.processes['relay-1'] as number, 'SIGKILL');
  assert.equal(await command.ended, 1);
  assert.match(command.output, /^relay-1 \| .*relaying as/m);
  assert.match(command.output, /^relay-1 was killed by SIGKILL$/m);
  await gone(stack);
  assert.ok(!existsSync(join(stackDir, 'stack.json')));
});

test('after a kill of the supervisor its processes end, and the next start cleans up', async (t) => {
  const command = new Command(t);
  const stack = await command.ready();
  await command.stop('SIGKILL');
  const next = new Command(t);
  const fresh = await next.ready();
  await gone(stack);
  assert.notEqual(fresh.pid, stack.pid);
  assert.equal(await next.stop('SIGINT'), 0);
});

// Regression: the next start silently deleted these messages.
test('a start delivers messages accepted before a crash, unless --fresh is given', async (t) => {
  // Accepts messages without a relay, and is killed.
  const crash = async (env: Record<string, string>, targets: readonly string[]) => {
    const command = new Command(t, { RELAY_WORKERS: '0', ...env });
    const stack = await command.ready();
    for (const target of targets) assert.equal(await post(stack, { id: `r.${target}`, target }), 202);
    await command.stop('SIGKILL');
    await gone(stack);
    return command.output;
  };
  assert.doesNotMatch(await crash({}, ['user/1', 'user/2']), /earlier/);
  assert.match(await crash({}, ['user/3']), /^2 messages .*earlier .*will be delivered.*--fresh/m);

  assert.match(
    await refusal({ STREAM_SHARDS: '2' }),
    /^3 messages .*earlier .*QUEUE=stream STREAM_SHARDS=1.*--fresh[^\n]*\n$/,
  );

  // The stack of a run keeps its own messages apart.
  const run = await Stack.start(readConfig(StackConfig, { STACK_DIR: stackDir, ...FREE }));
  await run.stop();

  const next = new Command(t);
  const { health } = await next.ready();
  assert.match(next.output, /^3 messages .*earlier /m);
  // These three, and the one that proves readiness.
  const relayed = async () => (await fetch(`${health['relay-1']}/metrics`)).text();
  await eventually(
    async () => /^arrival_relay_messages_acknowledged_total\S* 4$/m.test(await relayed()),
    'the messages',
  );
  assert.equal(await next.stop('SIGINT'), 0);

  // The queue is empty, so the number of shards can change.
  assert.doesNotMatch(await crash({ STREAM_SHARDS: '2' }, ['user/4']), /earlier/);
  const fresh = new Command(t, {}, ['--fresh']);
  await fresh.ready();
  assert.doesNotMatch(fresh.output, /earlier/);
  assert.equal(await fresh.stop('SIGINT'), 0);
});

// Regression: the refused start removed stack.json, tokens and certificates of the running stack.
test('a second start in the same directory is refused in one line, the first keeps its files', async (t) => {
  const command = new Command(t, { TLS: 'true' });
  await command.ready();
  const files = ['stack.json', 'ingest.tokens', 'curl.conf', 'tls/ca.pem'];
  const read = () => Promise.all(files.map((file) => readFile(join(stackDir, file), 'utf8')));
  const before = await read();
  const refusals: [env: Record<string, string>, says: RegExp][] = [
    [{}, /^a stack is running already in .* \(pid \d+\): stop it, or set STACK_DIR .*\n$/],
    [{ BRIDGE: 'true' }, /^BRIDGE is true, and BROKERS is 1; .*\n$/],
  ];
  for (const [env, says] of refusals) {
    assert.match(await refusal(env), says);
    assert.deepEqual(await read(), before);
  }
  assert.equal(await command.stop('SIGINT'), 0);
});

// Regression: a start emptied logs/ and redis/ of any given directory.
test('a STACK_DIR with other files is refused in one line, and stays unchanged', async () => {
  const files = {
    'logs/app.log': 'a log',
    'redis/dump.rdb': 'data',
    'stack.json': '{}',
    'notes.txt': 'mine',
  };
  await Promise.all(['logs', 'redis'].map((name) => mkdir(join(stackDir, name), { recursive: true })));
  for (const [name, text] of Object.entries(files)) await writeFile(join(stackDir, name), text);
  await chmod(stackDir, 0o755);
  const before = (await readdir(stackDir, { recursive: true })).sort();
  assert.match(
    await refusal(),
    /^STACK_DIR is \S+, which has files that are not a stack's, [^\n]*; allowed: [^\n]*\n$/,
  );
  assert.deepEqual((await readdir(stackDir, { recursive: true })).sort(), before);
  assert.equal((await stat(stackDir)).mode & 0o777, 0o755);
  for (const [name, text] of Object.entries(files))
    assert.equal(await readFile(join(stackDir, name), 'utf8'), text);
  assert.match(
    await refusal({ STACK_DIR: join(stackDir, 'notes.txt') }),
    /^STACK_DIR is \S+, which is not a directory that can be read: [^\n]*\n$/,
  );
});

// Regression: npm run pipeline refused a STACK_DIR that npm run matrix or deployments had used.
test('a STACK_DIR that is empty or held an earlier stack is used, and emptied of that stack', async () => {
  (await claimDirectory(join(stackDir, 'matrix')))();
  for (let i = 0; i < 2; i++) {
    const release = await claimDirectory(stackDir);
    assert.deepEqual(await readdir(join(stackDir, 'logs')), []);
    await writeFile(join(stackDir, 'logs/redis.log'), 'of this one');
    release();
  }
});

test('the error for a taken port names the port, its variable and its owner', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const port = String((server.address() as { port: number }).port);
  const says = await refusal({ INGEST_PORT: port });
  assert.match(says, new RegExp(`^port ${port} \\(INGEST_PORT\\) is taken.*set INGEST_PORT.*\\n$`));
  // Regression: "taken by MainThread", the name of every Node process.
  if (process.platform === 'linux') assert.match(says, new RegExp(`taken by .*node .*pid ${process.pid}`));
});

// Regression: brokers started after the stop.
test('if one server cannot start, the others are awaited and stopped', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const env = { STACK_DIR: stackDir, ...FREE, REDIS_PORT: `${port}`, BROKERS: '6' };
  const lines: string[] = [];
  const start = Stack.start(readConfig(StackConfig, env), {
    onLine: (...line) => lines.push(line.join(' ')),
  });
  await assert.rejects(start, /^Error: port \d+ \(REDIS_PORT\) is taken/);
  assert.match(lines.join('\n'), /^mosquitto-6 .* running$/m);
  assert.match(lines.join('\n'), /^mosquitto-6 .* terminating$/m);
});

test('a wrong setting is reported in one line, and nothing is started', async (t) => {
  const command = new Command(t, { RELAY_WORKERS: 'many' });
  assert.equal(await command.ended, 1);
  assert.match(command.output, /^RELAY_WORKERS is "many"; allowed: 0 to 64, .*\n$/);
  assert.ok(!existsSync(stackDir));
});

test("the user's own servers are used, and not stopped", async (t) => {
  const redis = await startRedis();
  t.after(() => redis.service.remove());
  const stack = await up(t, { REDIS_URL: redis.url });
  assert.deepEqual(Object.keys(stack.file.processes).sort(), ['ingest-1', 'mosquitto', 'relay-1']);
  assert.equal(stack.file.redis.url, redis.url);
  await stack.stop();
  await gone(stack.file);
  const own = new Redis(redis.url);
  t.after(() => own.disconnect());
  assert.equal(await own.ping(), 'PONG');
});

const nothingThere = await freePort();
const refused: [name: string, env: Record<string, string>, says: RegExp][] = [
  [
    'no Redis',
    { REDIS_URL: `redis://default:secret@127.0.0.1:${nothingThere}` },
    /^REDIS_URL: Redis at redis:\/\/default:\*\*\*@127\.0\.0\.1:\d+: connect ECONNREFUSED .*\n$/,
  ],
  [
    'no broker',
    { MQTT_URL: `mqtt://127.0.0.1:${nothingThere}` },
    /^MQTT_URL: broker at mqtt:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED .*\n$/,
  ],
  [
    'a bridge with one end',
    { BRIDGE: 'true' },
    /^BRIDGE is true, and BROKERS is 1; allowed: BROKERS from 2 on, a broker at each end\n$/,
  ],
  // Regression: the start ended with "the ingest answered 503", and did not name the setting.
  [
    'a cluster without an address',
    { REDIS_CLUSTER: 'true' },
    /^REDIS_CLUSTER is true, and REDIS_URL is not .*\n$/,
  ],
];
for (const [name, env, says] of refused) {
  test(`reported in one line: ${name}`, async () => {
    assert.match(await refusal(env), says);
  });
}

test('wrong passwords are reported in one line each', async (t) => {
  const [redis, broker] = await Promise.all([startRedis(), startBroker()]);
  t.after(() => redis.service.remove());
  t.after(() => broker.service.remove());
  const noRedis = await refusal({ REDIS_URL: redis.url.replace('secret', 'wrong') });
  assert.match(noRedis, /^REDIS_URL: Redis at redis:\/\/default:\*\*\*@.*WRONGPASS.*\n$/);
  const noBroker = await refusal({ MQTT_URL: broker.url('relay').replace('secret', 'wrong') });
  assert.match(noBroker, /^MQTT_URL: broker at mqtt:\/\/relay:\*\*\*@.*Not authorized.*\n$/);
});

test('a start ignores an unreadable old stack.json', async (t) => {
  (await claimDirectory(stackDir))();
  await writeFile(join(stackDir, 'stack.json'), '{"pid":');
  await up(t);
});
