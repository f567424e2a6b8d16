import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { execa } from 'execa';
import { installCommand, isInstalled } from '../../pipeline/setup/packages.mjs';
import { readConfig, StackConfig } from '../../pipeline/shared/config.ts';
import { isAlive } from '../../pipeline/stack/file.ts';
import { K6, QUIET } from '../../pipeline/stack/k6.ts';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';
import { leash } from '../../pipeline/stack/leash.ts';
import { Stack } from '../../pipeline/stack/stack.ts';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Interval, Run } from '../../reports/contract/run.ts';
import { validateRun } from '../../reports/contract/validate.ts';
import { Lab } from '../lab/lab.ts';
import type { IO, Main } from '../run/io.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Directories for a test's stack (on free ports) and its run, both removed after the test `t`. */
export async function place(t?: TestContext) {
  const dir = await temporaryDirectory();
  const runDir = `${dir}-run`; // outside the stack's directory, which only the stack uses
  t?.after(() => Promise.all([dir, runDir].map(remove)));
  const env = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', STACK_DIR: dir, NO_COLOR: '1' };
  return { dir, runDir, env };
}

export function node(args: string[], env: NodeJS.ProcessEnv) {
  return execa(process.execPath, args, { cwd: ROOT, env, reject: false, all: true });
}

/** A terminal in memory: what a command prints there, and Ctrl-C. */
export function terminal() {
  const printed = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof printed) => {
    const stream = new PassThrough().setEncoding('utf8');
    stream.on('data', (chunk) => {
      printed[name] += chunk;
    });
    return stream as unknown as NodeJS.WriteStream;
  };
  const stops: ((signal: NodeJS.Signals) => void)[] = [];
  const io: IO = {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    onInterrupt: (stop) => stops.push(stop),
  };
  const interrupt = (signal: NodeJS.Signals) => {
    for (const stop of stops) stop(signal);
  };
  return { io, printed, interrupt };
}

/** Runs a command in this process, with variables added to its environment. */
export async function run(main: Main, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { io, printed } = terminal();
  const exitCode = await main(args, { ...process.env, npm_lifecycle_event: undefined, ...env }, io);
  return { exitCode, ...printed };
}

/** Asserts that a command is refused in one line, before it prints anything. */
export async function assertRefused(
  main: Main,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  message: string | RegExp,
): Promise<void> {
  const { io, printed } = terminal();
  const own = { ...process.env, npm_lifecycle_event: undefined, ...env };
  const refusal = await main(args, own, io).then(
    (code) => assert.fail(`${args.join(' ')} ended with ${code}`),
    (error: Error) => error.message,
  );
  if (typeof message === 'string') assert.equal(refusal, message);
  else assert.match(refusal, message);
  assert.doesNotMatch(refusal, /\n/);
  assert.deepEqual(printed, { stdout: '', stderr: '' });
}

/**
 * Runs k6 in its own session, as `npm run scenario` does. With sched_autogroup_enabled, a k6 in the
 * session of busy test processes leaves the stack without CPU for seconds (Linux 6.18).
 */
export function k6(args: string[], env: NodeJS.ProcessEnv) {
  const run = execa(K6, args, {
    cwd: ROOT,
    env: { ...env, ...QUIET },
    reject: false,
    all: true,
    detached: true,
  });
  const { pid } = run;
  if (pid !== undefined) {
    leash.hold(pid);
    void run.then(() => leash.release(pid));
  }
  return run;
}

/** @param printed what the command printed, which explains what is wrong with the run */
export async function readRun(dir: string, printed = ''): Promise<Run> {
  try {
    const run = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8'));
    assert.deepEqual(validateRun(run), []);
    return run;
  } catch (error) {
    assert.fail(`${error}\n${printed}`);
  }
}

/** A line of timeline.ndjson is written when its second is over; figures that come later are in run.json alone. */
export function atOnce({ offered, ...row }: Interval) {
  return { ...row, canary_ms: null, due_bins: null, late_max_ms: null };
}

/** Makes a server listen on a free port until the test `t` ends; its address is `host:port`. */
export async function listen(t: TestContext, server: Server | SecureServer): Promise<string> {
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Reasons that a busy machine causes. */
const BUSY_MACHINE = /^the (generator was (late|out of CPU)|load was not offered|clocks disagree)/;

/** The reasons why the run does not pass, without those that a busy machine causes. */
export function reasonsOf({ verdict }: Run): string[] {
  return verdict.reasons.filter((reason) => !BUSY_MACHINE.test(reason));
}

/** Names of the broken rules, without those that a busy machine breaks. */
export function brokenOf({ verdict: { rules = [] } }: Run): string[] {
  const broken = rules.filter(({ ok, reason }) => ok === false && !BUSY_MACHINE.test(reason));
  return broken.map(({ name }) => name).sort();
}

/** Asserts that the run passes, or is invalid only because the machine was busy. */
export function assertPass(run: Run, exitCode: number | undefined): void {
  const { verdict } = run;
  assert.deepEqual(reasonsOf(run), [], JSON.stringify([verdict.reasons, run.errors]));
  assert.equal(verdict.result, verdict.reasons.length > 0 ? 'invalid' : 'pass');
  assert.equal(exitCode, verdict.result === 'pass' ? 0 : 99);
}

/** Asserts that every message arrived exactly once. */
export function assertAllArrived({ account, errors }: Run): void {
  assert.ok(account.scheduled > 0);
  assert.equal(account.arrived, account.scheduled, JSON.stringify(errors));
  assert.equal(account.deliveries.missing, 0);
  assert.equal(account.duplicates, 0);
  assert.ok(account.balanced);
}

/** Kills relay-1 of the stack in `dir`, if it is running. */
export function killRelay(dir: string): void {
  const file = join(dir, 'stack.json');
  if (!existsSync(file)) return;
  const { processes } = JSON.parse(readFileSync(file, 'utf8'));
  if (isAlive(processes['relay-1'])) process.kill(processes['relay-1'], 'SIGKILL');
}

/** The tool of each kernel feature, and commands that try it in a temporary network namespace. */
const TRIALS = {
  'network namespaces': ['ip', 'ip link add one type veth peer name two'],
  'traffic shaping': [
    'tc',
    'ip link set lo up; tc qdisc add dev lo root tbf rate 1mbit burst 64kb latency 100ms || tc qdisc add dev lo root netem rate 1mbit',
  ],
  nftables: [
    'nft',
    `nft add table inet trial; nft add chain inet trial c '{ type filter hook forward priority 0; }'
    nft add rule inet trial c ct state established counter accept`,
  ],
} as const;

/**
 * Why this machine lacks one of the features, or null if it has all of them. A test skips only for this
 * reason, and before it begins: a later error fails it.
 */
export function lacks(...features: (keyof typeof TRIALS)[]): string | null {
  const refusal = Lab.refusal();
  if (refusal !== null) return refusal;
  for (const feature of features) {
    const [tool, trial] = TRIALS[feature];
    if (!isInstalled(tool)) return `${tool} is not installed: ${installCommand([tool])}`;
    const args = ['--net', 'sh', '-e', '-c', trial];
    const env = { ...process.env, PATH: DAEMON_PATH };
    const { status, stderr } = spawnSync('unshare', args, { env, encoding: 'utf8' });
    if (status !== 0) return `${feature}: ${stderr.trim().split('\n').at(-1)}`;
  }
  return null;
}

/** What the gateway does with a request. */
export type Fate = 'pass' | 'swallow' | 'hang' | 'refuse' | 'bad gateway';

/** Statuses of the requests that the gateway refuses itself. */
const REFUSALS: Partial<Record<Fate, number>> = { refuse: 400, 'bad gateway': 502 };

/** A pipeline for several runs, one after the other. */
export class Pipeline {
  readonly stack: Stack;
  readonly #at: Awaited<ReturnType<typeof place>>;
  #runs = 0;

  private constructor(stack: Stack, at: Awaited<ReturnType<typeof place>>) {
    this.stack = stack;
    this.#at = at;
  }

  static async start(settings: NodeJS.ProcessEnv = {}): Promise<Pipeline> {
    const at = await place();
    return new Pipeline(await Stack.start(readConfig(StackConfig, { ...at.env, ...settings })), at);
  }

  /** Runs a script (a name in scenarios/, or a path) with settings (-e) and an environment. */
  async run(script: string, settings: Record<string, string | number> = {}, env: NodeJS.ProcessEnv = {}) {
    this.#runs++;
    const dir = join(this.#at.dir, `run-${this.#runs}`);
    const args = Object.entries({ LABELS: 'test=17', ...settings }).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ]);
    const { exitCode, all } = await k6(
      ['run', '-q', '--log-format', 'raw', ...args, resolve(ROOT, 'scenarios', script)],
      {
        ...this.#at.env,
        ...env,
        RUN_DIR: dir,
      },
    );
    const run = await readRun(dir, all);
    assert.equal(run.run.labels.test, '17');
    return { run, exitCode, text: String(all), dir };
  }

  /**
   * Starts a proxy in front of the ingest until the test `t` ends. It records all requests.
   * @param answers what it does with request n: pass forwards it, hang forwards it and never answers, and
   *   the others do not forward it: swallow answers 202, refuse 400, bad gateway 502
   */
  async gateway(t: TestContext, answers: (body: string, n: number) => Fate | Promise<Fate> = () => 'pass') {
    const { ingest, stages } = this.stack.file;
    const seen = {
      connections: 0,
      requests: [] as { body: string; authorization: string; accepted: number }[],
    };
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${ingest.token}` };
    const server = createServer(async (request, response) => {
      const body = await text(request);
      const accepted = seen.requests.length;
      seen.requests.push({ body, authorization: String(request.headers.authorization), accepted });
      const answer = await answers(body, accepted);
      let status = REFUSALS[answer] ?? 202;
      if (answer === 'pass' || answer === 'hang')
        ({ status } = await fetch(ingest.url + request.url, { method: 'POST', headers, body }));
      if (answer !== 'hang') response.writeHead(status).end(JSON.stringify({ accepted }));
    });
    server.on('connection', () => seen.connections++);
    const env = {
      ...this.own,
      INGEST_URL: `http://${await listen(t, server)}`,
      INGEST_TOKEN: 'the one in the environment',
      BROKER_URL: stages.mqttUrl,
    };
    return { seen, env };
  }

  /** Variables that make a script use this pipeline as the user's own. */
  get own() {
    const { ingest, mqtt, redis } = this.stack.file;
    const broker = new URL(mqtt.url);
    [broker.username, broker.password] = [mqtt.username, mqtt.password];
    return {
      INGEST_URL: ingest.url,
      INGEST_TOKEN: ingest.token,
      MQTT_URL: broker.toString(),
      REDIS_URL: redis.url,
    };
  }

  /** Variables by which a command finds this pipeline. */
  get env(): NodeJS.ProcessEnv {
    return this.#at.env;
  }

  async stop(): Promise<void> {
    await this.stack.stop(0);
    await remove(this.#at.dir);
  }
}
