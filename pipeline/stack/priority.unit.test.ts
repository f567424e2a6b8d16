import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { execa } from 'execa';
import { Child } from './child.ts';
import { atItsPriority, named, prioritiesOf, prioritiesOfRun, setSession } from './priority.ts';

const KINDS = ['ingest', 'k6', 'mosquitto', 'nginx', 'redis', 'relay'];
const PRINT = `
  import { named, prioritiesOf } from '${import.meta.dirname}/priority.ts';
  console.log(named(prioritiesOf('drain')));`;

const hasRights = () => prioritiesOf('drain').has('relay');

test("a generator has no priority over the user's own pipeline", () => {
  assert.deepEqual(prioritiesOfRun({}), prioritiesOf('drain'));
  assert.equal(named(prioritiesOfRun({ PRIORITY: 'none' })), 'none');
  assert.equal(named(prioritiesOfRun({ INGEST_URL: 'http://127.0.0.1:1' })), 'none');
});

test('the broker goes before the generator, and both before the ingest', { skip: !hasRights() }, () => {
  const drain = prioritiesOf('drain');
  const [broker = 0, generator = 0] = [drain.get('mosquitto'), drain.get('k6')];
  assert.ok(broker <= generator && generator < 0);
  if (getPriority() > -5) {
    assert.ok(broker < generator);
    assert.equal(named(drain), 'drain, downstream at nice -10, generator at -5');
  }
});

test('none changes no priority', () => {
  const none = prioritiesOf('none');
  assert.equal(named(none), 'none');
  for (const kind of KINDS) assert.deepEqual(atItsPriority(none, kind), []);
});

test('finding out the allowed priorities leaves our own unchanged', () => {
  const before = getPriority();
  prioritiesOf('drain');
  assert.equal(getPriority(), before);
});

const skip = !existsSync('/usr/bin/setpriv') || !hasRights();
test('without the right to raise priorities, those of upstream processes are lowered', { skip }, async () => {
  const without = ['--bounding-set', '-sys_nice', '--inh-caps', '-sys_nice'];
  const { stdout } = await execa('setpriv', [
    ...without,
    process.execPath,
    '--input-type=module-typescript',
    '-e',
    PRINT,
  ]);
  assert.equal(stdout, `drain, ingest at nice ${Math.max(10, getPriority())}`);
});

test('a process, its threads and its session have its nice value', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const drain = prioritiesOf('drain');
  const [kind = '', nice] = [...drain][0] ?? [];
  const [program = '', ...args] = [
    ...atItsPriority(drain, kind),
    process.execPath,
    '-e',
    'console.log(); setInterval(Date, 1e6)',
  ];
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const pid = child.pid as number;
  await setSession(drain, kind, pid);
  // The value is field 19 of proc_pid_stat(5). The split is behind field 2, the command's name.
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]),
  );
  assert.ok(threads.length > 1);
  assert.deepEqual(new Set(threads), new Set([nice]));
  if (existsSync('/proc/self/autogroup')) {
    assert.match(readFileSync(`/proc/${pid}/autogroup`, 'utf8'), new RegExp(` nice ${nice}\n$`));
  }
});

class Sleeper extends Child {
  readonly pid = this.child.pid as number;
}

test('a generator has its nice value', async (t) => {
  const env = { PATH: process.env.PATH };
  const options = { stdio: 'ignore', kind: 'k6' } as const;
  for (const [PRIORITY, nice] of [
    ['drain', prioritiesOf('drain').get('k6') ?? getPriority()],
    ['none', getPriority()],
  ] as const) {
    const sleeper = new Sleeper([process.execPath, '-e', 'setInterval(Date, 1e6)'], {
      ...options,
      env: { ...env, PRIORITY },
    });
    t.after(() => sleeper.signal('SIGKILL'));
    const deadline = Date.now() + 30_000;
    while (getPriority(sleeper.pid) !== nice && Date.now() < deadline) await new Promise(setImmediate);
    assert.equal(getPriority(sleeper.pid), nice);
  }
});

// Regression: the recorder that Artillery starts was at nice -20, as each child was raised by ten.
test('a child of a generator has no higher priority than the generator', { skip: !hasRights() }, async () => {
  const args = ['-n', '-10', process.execPath, '--input-type=module-typescript', '-e', PRINT];
  const { stdout } = await execa('nice', args);
  assert.deepEqual(stdout.match(/nice -?\d+/g), ['nice -10']);
});
