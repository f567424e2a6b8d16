import assert from 'node:assert/strict';
import { readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { Redis } from 'ioredis';
import { shownRun } from '../../reports/render.ts';
import { trust } from '../shared/trust.ts';
import { eventually, remove, startBroker, startRedis, temporaryDirectory } from '../test/services.ts';
import { makeCertificates } from './certificates.ts';
import type { StackFile } from './file.ts';
import { checkBroker, checkRedis } from './probe.ts';

const ROOT = join(import.meta.dirname, '../..');
const READY_MS = 30_000;

/** `npm run pipeline`, on free ports. */
class Pipeline {
  output = '';
  ended = false;
  readonly exitCode: Promise<number | undefined>;
  readonly #process;
  readonly #file: string;

  constructor(stackDir: string, env: Record<string, string>) {
    this.#file = join(stackDir, 'stack.json');
    this.#process = execa(process.execPath, [join(import.meta.dirname, 'main.ts')], {
      env: { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', NO_COLOR: '1', STACK_DIR: stackDir, ...env },
      reject: false,
      all: true,
    });
    this.#process.all.on('data', (chunk) => {
      this.output += chunk;
    });
    this.exitCode = this.#process.then(({ exitCode }) => {
      this.ended = true;
      return exitCode;
    });
  }

  async ready(): Promise<StackFile> {
    let text = '';
    const written = async () => {
      text = await readFile(this.#file, 'utf8').catch(() => '');
      return text !== '' || this.ended;
    };
    await eventually(written, 'a stack', READY_MS);
    assert.notEqual(text, '', this.output);
    return JSON.parse(text);
  }

  stop(): Promise<number | undefined> {
    this.#process.kill('SIGINT');
    return this.exitCode;
  }
}

function k6(script: string, settings: Record<string, string>, env: Record<string, string>) {
  const args = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  return execa('./k6', ['run', '-q', '--log-format', 'raw', ...args, `scenarios/${script}`], {
    cwd: ROOT,
    env: { ...env, K6_AUTO_EXTENSION_RESOLUTION: 'false', K6_NO_USAGE_REPORT: 'true' },
    reject: false,
    all: true,
  });
}

/** All files below a folder. */
async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Secrets of all users and clients. The supervisor's own passwords are only in its memory. */
async function secretsOf(stack: StackFile): Promise<string[]> {
  const urls = [stack.redis.url, stack.operator.redisUrl];
  for (const name of ['ingest-1', 'relay-1']) {
    const environment = await readFile(`/proc/${stack.processes[name]}/environ`, 'utf8');
    urls.push(...[...environment.matchAll(/(?:REDIS|MQTT)_URL=([^\0]+)/g)].map(([, url]) => url as string));
  }
  // An ingest knows where the broker is, and has no user there.
  const passwords = urls.map((url) => new URL(url).password).filter(Boolean);
  const secrets = [stack.ingest.token, stack.mqtt.password, ...passwords];
  assert.equal(new Set(secrets).size, 7, 'one for each');
  for (const secret of secrets) assert.match(secret, /^[\w-]{32}$/);
  return secrets;
}

/** All command lines on this machine while `lasts` returns true. */
async function commandsSeen(lasts: () => boolean): Promise<string[]> {
  const seen = new Set<string>();
  while (lasts()) {
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      seen.add(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
    }
    await sleep(20);
  }
  return [...seen];
}

/** The processes' listening addresses as in /proc/net/tcp: hexadecimal, 32-bit words in the host's order. */
async function listenersOf(pids: number[]): Promise<string[]> {
  const sockets = new Set<string>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`)) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
  }
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const LISTEN = '0A';
  return tables
    .flatMap((table) => table.trim().split('\n').slice(1))
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTEN && sockets.has(fields[9] as string))
    .map((fields) => fields[1] as string);
}

describe('a stack with TLS', () => {
  let dir: string;
  let stackDir: string;
  let runDir: string;
  let pipeline: Pipeline;
  let stack: StackFile;

  before(async () => {
    dir = await temporaryDirectory();
    stackDir = join(dir, 'stack');
    runDir = join(dir, 'run');
    pipeline = new Pipeline(stackDir, { TLS: 'true', LOG_LEVEL: 'debug' });
    stack = await pipeline.ready();
    trust(join(stackDir, 'tls/ca.pem'));
  });

  after(async () => {
    await pipeline.stop();
    await remove(dir);
  });

  test('carries a run without secrets in process lists, logs and reports', async (t) => {
    const secrets = await secretsOf(stack);
    const presence = execa('mosquitto_sub', ['-t', 'status/#', '-F', '%t %p'], {
      env: { XDG_CONFIG_HOME: stackDir },
      reject: false,
    });
    t.after(() => presence.kill());
    const heard: string[] = [];
    presence.stdout.on('data', (chunk) => heard.push(String(chunk)));
    // Retained messages come at once, so the client is subscribed now.
    await eventually(() => heard.join('').includes('status/relay/relay-1 online'), 'the relay');

    let running = true;
    t.after(() => {
      running = false;
    });
    const commands = commandsSeen(() => running);
    const run = await k6('smoke.js', { DURATION: '2' }, { STACK_DIR: stackDir, RUN_DIR: runDir });
    running = false;
    const text = await readFile(join(runDir, 'run.json'), 'utf8').catch(() => assert.fail(run.all));
    const { account, latency, environment } = JSON.parse(text);
    assert.equal(environment.pipeline.tls, true);
    assert.ok(account.balanced);
    assert.ok(account.scheduled > 0);
    assert.equal(account.arrived, account.scheduled);
    assert.equal(latency.stages.queue.count, latency.arrival.count, "it used Redis' clock");

    await eventually(
      () => /^status\/subscriber\/\S+-1 offline$/m.test(heard.join('')),
      'the end of the subscriber',
    );
    assert.match(heard.join(''), /^status\/subscriber\/\S+-1 online$/m);

    const seen = await commands;
    assert.ok(seen.some((command) => command.startsWith('./k6\0run')));
    const outputs: [where: string, text: string][] = seen.map((command) => ['a process list', command]);
    outputs.push(['what k6 printed', String(run.all)], ['what the stack printed', pipeline.output]);
    const configurations = ['redis.conf', 'redis.acl', 'mosquitto.conf', 'mosquitto.users', 'mosquitto.acl'];
    const files = [
      ...(await filesIn(runDir)),
      ...(await filesIn(join(stackDir, 'logs'))),
      ...configurations.map((name) => join(stackDir, name)),
    ];
    for (const file of files) outputs.push([file, await readFile(file, 'latin1')]);
    const page = shownRun(await readFile(join(runDir, 'index.html'), 'utf8'));
    outputs.push(['the run in the page', JSON.stringify(page)]);
    for (const [where, text] of outputs) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `a secret is in ${where}`);
    }
  });

  test('runs no command that its role may not run', async () => {
    const reader = new Redis(stack.redis.url, { disableClientInfo: true });
    const errors = await reader.info('errorstats');
    reader.disconnect();
    assert.doesNotMatch(errors, /NOPERM/);
  });

  test('writes no files that other users can read', async () => {
    for (const file of [
      stackDir,
      ...(await readdir(stackDir, { recursive: true })).map((f) => join(stackDir, f)),
    ]) {
      const { mode } = await stat(file);
      assert.equal(mode & 0o077, 0, `${file} is ${(mode & 0o777).toString(8)}`);
    }
    const files = (await filesIn(join(stackDir, 'tls')))
      .map((file) => file.slice(stackDir.length + 5))
      .sort();
    const servers = ['ingest', 'mosquitto', 'redis'].flatMap((name) => [`${name}.key`, `${name}.pem`]);
    assert.deepEqual(files, ['ca.pem', ...servers].sort(), "the authority's key is deleted");
  });

  test('listens only on this host', { skip: process.platform !== 'linux' }, async () => {
    const listening = await listenersOf(Object.values(stack.processes));
    assert.ok(listening.length >= 3, 'Redis, Mosquitto and ingest');
    for (const address of listening) assert.match(address, /^(0100007F|0{24}01000000):/);
  });

  test('refuses connections without TLS', async () => {
    await assert.rejects(fetch(`${stack.ingest.url.replace('https', 'http')}/livez`));
    const plain = new Redis(stack.redis.url.replace('rediss', 'redis'), {
      lazyConnect: true,
      retryStrategy: null,
      disableClientInfo: true,
    });
    plain.on('error', () => {});
    await assert.rejects(plain.connect());
    plain.disconnect();
  });

  test('reads new tokens while it runs', async () => {
    const post = async (token: string) => {
      const response = await fetch(`${stack.ingest.url}/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: '{"id":"r.1.1","target":"user/1"}',
      });
      await response.text();
      return response.status;
    };
    assert.equal(await post(stack.ingest.token), 202);
    await writeFile(join(stackDir, 'ingest.tokens'), 'another-token\n');
    process.kill(stack.processes['ingest-1'] as number, 'SIGHUP');
    await eventually(async () => (await post('another-token')) === 202, 'the new token');
    assert.equal(await post(stack.ingest.token), 401);
  });

  test('is refused by a client that trusts another authority', async () => {
    const other = join(dir, 'other');
    const { ca } = await makeCertificates(join(other, 'tls'), []);
    const misled = { ...stack, ca: await readFile(ca, 'utf8') };
    await writeFile(join(other, 'stack.json'), JSON.stringify(misled));
    const run = await k6('smoke.js', {}, { STACK_DIR: other, RUN_DIR: join(other, 'run') });
    assert.equal(run.exitCode, 108, run.all);
    assert.match(
      String(run.stderr),
      /^test aborted: redis 127\.0\.0\.1:\d+ can't be used .*certificate signed by unknown authority \(ca, TLS_CA: the file of its authority\)[^\n]*$/,
    );
  });
});

describe("the user's own servers with TLS", () => {
  let dir: string;
  let servers: Record<'REDIS_URL' | 'MQTT_URL', string>;
  let ca: string;
  let stop: () => Promise<void>;

  before(async () => {
    dir = await temporaryDirectory();
    const made = await makeCertificates(join(dir, 'theirs'), ['redis', 'mosquitto']);
    ca = made.ca;
    const [redis, broker] = await Promise.all([startRedis(made.of.redis), startBroker(made.of.mosquitto)]);
    stop = async () => {
      await redis.service.remove();
      await broker.service.remove();
    };
    servers = { REDIS_URL: redis.url, MQTT_URL: broker.url('relay') };
  });

  after(async () => {
    await stop();
    await remove(dir);
  });

  test('are refused in one line each if their authority is unknown', async () => {
    const why = '(self-signed certificate in certificate chain|unable to verify the first certificate)';
    const end = `: ${why} \\(TLS_CA: the file of its authority\\)$`;
    const { REDIS_URL, MQTT_URL } = servers;
    await assert.rejects(checkRedis('REDIS_URL', { url: REDIS_URL }), {
      message: new RegExp(`^REDIS_URL: Redis at rediss://default:\\*\\*\\*@\\S+${end}`),
    });
    await assert.rejects(checkBroker('MQTT_URL', MQTT_URL), {
      message: new RegExp(`^MQTT_URL: broker at mqtts://relay:\\*\\*\\*@\\S+${end}`),
    });
  });

  test('an invalid file of authorities is refused in one line', async () => {
    const empty = join(dir, 'empty.pem');
    await writeFile(empty, '');
    assert.throws(() => trust(join(dir, 'none')), {
      message: /^TLS_CA is "\S+none", which cannot be read: [^\n]*$/,
    });
    assert.throws(() => trust(empty), {
      message: /^TLS_CA is "\S+", which does not hold one; allowed: [^\n]*$/,
    });
  });

  test('are accepted with their authority, beside our own', async () => {
    const pipeline = new Pipeline(join(dir, 'stack'), {
      REDIS_URL: servers.REDIS_URL,
      TLS: 'true',
      TLS_CA: ca,
    });
    const { redis, mqtt } = await pipeline.ready();
    assert.match(redis.url, /^rediss:/);
    assert.match(mqtt.url, /^mqtts:/);
    assert.equal(await pipeline.stop(), 0, pipeline.output);
  });
});
