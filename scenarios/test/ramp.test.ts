import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { eventually, remove } from '../../pipeline/test/services.ts';
import { latencyOf, type Run } from '../../reports/contract/run.ts';
import { shownRun } from '../../reports/render.ts';
import { Reader } from '../../reports/test/browser.ts';
import { charts } from '../../reports/test/looking.ts';
import { assertAnswers } from '../../reports/test/reading.ts';
import { main } from '../run/run.ts';
import { assertPass, assertRefused, atOnce, k6, node, place, ROOT, readRun } from './harness.ts';

const SMOKE = ['-e', 'PROFILE=profiles/smoke.yml', '-e', 'P99=60000'];

/** The smoke profile: 100 + 900 + 1,000 requests, direct, room and batch as 7 : 2 : 1. */
const REQUESTS = 2000;
const MESSAGES = 3800;
const DELIVERIES = 5400;

interface StackFile {
  pid: number;
  ingest: { url: string; token: string };
  mqtt: { url: string; username: string; password: string };
  processes: Record<string, number>;
}

async function stackFile(dir: string): Promise<StackFile> {
  return JSON.parse(await readFile(join(dir, 'stack.json'), 'utf8'));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function assertComplete(run: Run): void {
  const { account } = run;
  const { requests, deliveries } = account;
  assert.deepEqual(requests, { scheduled: REQUESTS, sent: REQUESTS, retried: 0, failed: 0 });
  assert.deepEqual(deliveries, { due: DELIVERIES, arrived: DELIVERIES, missing: 0 });
  assert.equal(account.scheduled, MESSAGES);
  assert.equal(account.arrived, MESSAGES);
  assert.equal(account.balanced, true);
  for (const none of ['dropped', 'lost', 'duplicates', 'foreign'] as const)
    assert.equal(account[none], 0, none);
}

describe('npm run ramp', () => {
  test('sends a load through real servers, accounts for every message and writes a report', async (t) => {
    const { dir, env } = await place(t);
    const ramp = node(['scenarios/run/run.ts', 'scenarios/ramp.js', ...SMOKE], env);
    await eventually(() => stackFile(dir).then(Boolean, () => false), 'a stack', 30_000);
    const { processes } = await stackFile(dir);
    const programs = await Promise.all(
      ['redis', 'mosquitto'].map((name) => readlink(`/proc/${processes[name]}/exe`)),
    );
    assert.match(programs[0] as string, /redis-(server|check-rdb)$/); // Debian's is one binary with two names
    assert.match(programs[1] as string, /mosquitto$/);

    const { exitCode, stdout, all } = await ramp;
    const page = stdout.match(/^ +report +(\S+)$/m)?.[1];
    assert.ok(page, all);
    assert.equal(stdout.trimEnd().split('\n').at(-1), `  report      ${page}`);
    const runDir = dirname(join(ROOT, page));
    try {
      const run = await readRun(runDir);
      assertPass(run, exitCode);
      assertComplete(run);
      assert.match(basename(runDir), /^ramp-single-loopback-\d{8}T\d{6}Z$/);

      const means = Object.values(run.latency.stages).map((stage) => stage.mean as number);
      const arrival = run.latency.arrival.mean as number;
      assert.ok(Math.abs(means.reduce((sum, mean) => sum + mean) - arrival) < 0.001, 'stages sum to arrival');
      assert.deepEqual(
        run.steps.map(({ name, measured, requests, arrived }) => [name, measured, requests, arrived]),
        [
          ['warm-up', false, 100, 270],
          ['ramp', true, 900, 2430],
          ['sustained', true, 1000, 2700],
        ],
      );
      for (const name of ['k6', 'ingest-1', 'relay-1', 'redis', 'mosquitto']) {
        assert.ok(
          run.resources.some((r) => r.process === name),
          `${name} reported its resources`,
        );
      }
      // CPU times are read in ticks of 10 ms, and not all at the same moment.
      const mean = (name: string) =>
        run.resources.find((r) => r.process === name)?.cpu_percent.mean ?? Number.NaN;
      const all = run.resources.filter((r) => r.process !== 'host').map((r) => mean(r.process));
      const sum = all.reduce((total, percent) => total + percent, 0);
      assert.ok(sum < 1.1 * mean('host') + 5, `the processes used ${sum} %, the host ${mean('host')} %`);

      const lines = (await readFile(join(runDir, 'timeline.ndjson'), 'utf8')).trim().split('\n');
      assert.deepEqual(
        lines.map((line) => atOnce(JSON.parse(line))),
        run.timeline.map(atOnce),
      );
      assert.equal(run.canary?.sent, 6, 'one a second');
      assert.ok((run.canary?.arrived ?? 0) >= 1, 'the last ones may be in flight when the run ends');
      assert.ok(run.clock?.processes.some(({ process }) => process === 'relay-1'));
      if (process.platform === 'linux') {
        const congestion = await readFile('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8');
        assert.equal(run.environment.tcp_congestion_control, congestion.trim());
      }
      assert.equal(run.health.socket_wait?.count, run.latency.arrival.count);
      const { kernel, read } = run.health.arrival_stamps;
      assert.equal(kernel + read, run.latency.arrival.count);
      assert.equal(kernel > 0, process.platform === 'linux', 'only Linux stamps arrivals in the kernel');
      assert.match(await readFile(join(runDir, 'arrival.hlog'), 'utf8'), /^Tag=arrival,/m);
      const html = await readFile(join(runDir, 'index.html'), 'utf8');
      assert.equal(shownRun(html).run.id, run.run.id);
      const reader = await Reader.start();
      t.after(() => reader.close());
      await reader.read(html, async (shown) => {
        await assertAnswers(shown, run);
        const drawn = await charts(shown);
        assert.ok(drawn.length >= 12);
        const empty = run.timeline.every(({ backlog }) => backlog === 0) ? 'Backlog' : '';
        for (const { name, lines } of drawn)
          assert.ok(name === empty || lines.some(({ pixels }) => pixels > 40), name);
      });
      // A busy machine makes the run invalid; each file shows that.
      const { result } = run.verdict;
      const summary = await readFile(join(runDir, 'summary.md'), 'utf8');
      assert.ok(summary.startsWith(`## ${result.toUpperCase()}: `), summary);
      const junit = await readFile(join(runDir, 'junit.xml'), 'utf8');
      const count = (what: string) =>
        Number(junit.match(new RegExp(`<testsuite [^>]*${what}="(\\d+)"`))?.[1]);
      assert.equal(count('failures') + count('errors') === 0, result === 'pass', junit);
    } finally {
      await remove(runDir);
    }
    assert.deepEqual(Object.values(processes).filter(alive), [], 'every process has ended');
  });

  test('when k6 is killed, it leaves a report up to then and no process', async (t) => {
    const { dir, env } = await place(t);
    const profile = join((await place(t)).dir, 'long.yml'); // outside the stack's directory
    const rates = { 'warm-up': 50, hold: 100, never: 1000 };
    const phases = Object.entries(rates).map(
      ([name, rate]) => `{name: ${name}, duration: ${name === 'hold' ? 60 : 1}, arrivalRate: ${rate}}`,
    );
    await writeFile(profile, `phases: [${phases.join(', ')}]\nflows: [{name: direct}]`);
    const ramp = node(['scenarios/run/run.ts', 'scenarios/ramp.js', '-e', `PROFILE=${profile}`], env);
    await eventually(() => stackFile(dir).then(Boolean, () => false), 'a stack', 30_000);
    const { processes } = await stackFile(dir);
    let pid = 0;
    await eventually(async () => {
      const { stdout } = await execa('pgrep', ['-P', String(ramp.pid), '-x', 'k6'], { reject: false });
      pid = Number(stdout.split('\n')[0]);
      return pid > 0;
    }, 'k6');
    const runDir = (await readFile(`/proc/${pid}/environ`, 'utf8')).match(/RUN_DIR=([^\0]+)/)?.[1] as string;
    await eventually(
      async () =>
        (await readRun(runDir).then(
          (run) => run.steps.length,
          () => 0,
        )) > 1,
      'a report of the second phase',
      60_000,
    );
    process.kill(pid, 'SIGKILL');
    const { exitCode, stderr } = await ramp;
    assert.equal(exitCode, 137);
    assert.match(stderr, /^k6 was killed by SIGKILL: the run is incomplete, its report is \S+index\.html$/m);
    const run = await readRun(runDir);
    assert.equal(run.verdict.result, 'incomplete');
    assert.equal(run.run.ended, null);
    assert.match(run.verdict.reasons.join(), /cut off at 0:\d\d of 1:02$/);
    assert.deepEqual(
      run.steps.map(({ name }) => name),
      ['warm-up', 'hold'],
      'a phase that did not begin is left out',
    );
    const [warm, hold] = run.steps as [Run['steps'][number], Run['steps'][number]];
    assert.deepEqual([warm.requests, warm.duration_s], [50, 1]);
    assert.equal(run.account.scheduled, warm.scheduled + hold.scheduled);
    assert.ok(hold.duration_s < 60, 'the duration is the time that it ran');
    assert.ok(Math.abs(hold.requests - 100 * hold.duration_s) <= 1, 'all that were due until then');
    const shown = shownRun(await readFile(join(runDir, 'index.html'), 'utf8'));
    assert.equal(shown.verdict.result, 'incomplete');
    assert.deepEqual([...Object.values(processes), pid].filter(alive), []);
    await remove(runDir);
  });

  describe('fails with one line', { concurrency: 3 }, () => {
    const wrong: [string, string[], NodeJS.ProcessEnv, RegExp][] = [
      ['a negative rate', ['-e', 'RATE=-4'], {}, /^RATE is "-4"; allowed: 0 to 1e9$/],
      ['a missing profile', ['-e', 'PROFILE=profiles/none.yml'], {}, /none\.yml/],
      ['INGEST_URL alone', [], { INGEST_URL: 'http://127.0.0.1:1' }, /^mqtt\.url \(MQTT_URL\) is not set/],
      ['a wrong port', [], { REDIS_PORT: 'many' }, /^REDIS_PORT is "many"; allowed: 0 to 65535/],
      ['no Redis at REDIS_URL', [], { REDIS_URL: 'redis://127.0.0.1:1/0' }, /^REDIS_URL: .*127\.0\.0\.1:1/],
    ];
    for (const [what, args, settings, message] of wrong) {
      test(what, async (t) => {
        const { env } = await place(t);
        await assertRefused(main, ['scenarios/ramp.js', ...args], { ...env, ...settings }, message);
      });
    }

    const profiles: [string, string, RegExp][] = [
      [
        'an unknown key',
        'phases: [{duration: 1, arivalRate: 1}]\nflows: [{name: a}]',
        /line 1: unknown key "arivalRate" in phase; allowed: /,
      ],
      [
        'weights of 0',
        'phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, weight: 0}]',
        /the weights of the flows sum to 0/,
      ],
    ];
    for (const [what, text, message] of profiles) {
      test(`a profile: ${what}`, async (t) => {
        const { dir, env } = await place(t);
        const profile = join(dir, 'own.yml');
        await writeFile(profile, text);
        await assertRefused(main, ['scenarios/ramp.js', '-e', `PROFILE=${profile}`], env, message);
      });
    }
  });
});

describe('./k6 run scenarios/ramp.js with a running pipeline', () => {
  let at: Awaited<ReturnType<typeof place>>;
  let stack: ReturnType<typeof node>;

  before(async () => {
    at = await place();
    stack = node(['pipeline/stack/main.ts'], at.env);
    await eventually(() => stackFile(at.dir).then(Boolean, () => false), 'a stack', 30_000);
  });

  after(async () => {
    stack.kill('SIGTERM');
    await stack;
    await Promise.all([at.dir, at.runDir].map(remove));
  });

  test('measures the same as npm run ramp', async () => {
    const { exitCode, all } = await k6(['run', ...SMOKE, 'scenarios/ramp.js'], {
      ...at.env,
      RUN_DIR: at.runDir,
    });
    const run = await readRun(at.runDir, String(all));
    assertPass(run, exitCode);
    assertComplete(run);
    assert.match(String(run.run.command), /^\.\/k6 run .*scenarios\/ramp\.js$/);
  });

  test('holds a concurrency instead of a rate with a profile of vus', async () => {
    const profile = join(at.dir, 'closed.yml');
    await writeFile(
      profile,
      'phases: [{name: one, duration: 1, vus: 1}, {name: eight, duration: 2, vus: 8}]\nflows: [{name: direct}, {name: pair, messages: 2}]',
    );
    const runDir = join(at.dir, 'closed');
    const args = ['run', '-e', `PROFILE=${profile}`, '-e', 'P99=60000', 'scenarios/ramp.js'];
    const { exitCode, all } = await k6(args, { ...at.env, RUN_DIR: runDir });
    const run = await readRun(runDir, String(all));
    assertPass(run, exitCode);
    assert.equal(run.run.model, 'closed');
    assert.equal(run.account.arrived, run.account.scheduled);
    assert.ok(run.account.balanced);
    assert.equal(latencyOf(run.latency, 'schedule').max, 0, 'a message is due when it is sent');
    for (const step of run.steps) assert.ok(step.arrived > 0 && step.arrived === step.scheduled, step.name);
    assert.deepEqual(
      run.steps.map(({ name, vus }) => [name, vus]),
      [
        ['one', 1],
        ['eight', 8],
      ],
    );
  });

  test('fails with one line on a wrong broker password', async () => {
    const { ingest, mqtt } = await stackFile(at.dir);
    const { exitCode, stderr } = await k6(['run', '--log-format', 'raw', ...SMOKE, 'scenarios/ramp.js'], {
      ...at.env,
      INGEST_URL: ingest.url,
      INGEST_TOKEN: ingest.token,
      MQTT_URL: mqtt.url.replace('://', '://subscriber:wrong@'),
    });
    assert.match(
      stderr,
      /test aborted: MQTT broker 127\.0\.0\.1:\d+ refused user "subscriber": .*[Nn]ot authori/,
    );
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
    assert.equal(exitCode, 108);
  });
});

test('a k6 built from other sources refuses to run', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'arrival-test-'));
  await copyFile(join(ROOT, 'k6'), join(dir, 'k6'));
  await mkdir(join(dir, 'extensions/k6'), { recursive: true });
  await writeFile(join(dir, 'extensions/k6/go.mod'), 'module other\n');
  const { exitCode, stderr } = await execa(join(dir, 'k6'), ['version'], { reject: false });
  assert.match(
    stderr,
    /k6 is stale: it was built from other sources than extensions\/k6 holds now; build it with: npm run setup$/,
  );
  assert.equal(exitCode, 1);
  await rm(dir, { recursive: true });
});
