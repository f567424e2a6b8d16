import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { build } from 'vite';
import { copyCheckout } from '../test/checkout.ts';
import { remove, temporaryDirectory } from '../test/services.ts';
import { aptScript, installCommand, isInstalled, NCHAN, neededPrograms, packagesFor } from './packages.mjs';
import { builtFrom, filesBelow, hashFiles, isK6Source, k6Sources, pageFiles } from './sources.mjs';
import { buildGo, locked, run, step } from './steps.mjs';

// Regression: the set-up looked for the hash under another name than the build, so it built k6 each time.
test('a second set-up has nothing to do', async () => {
  const setup = join(import.meta.dirname, './main.mjs');
  const { stdout } = await execa(process.execPath, [setup, '--test'], {
    env: { INGEST_URL: '', MQTT_URL: '', REDIS_URL: '' },
  });
  assert.equal(stdout, 'setup  nothing to do');
});

// Regression: the set-up required a Go version that no module needed, although everything was built.
test('only a build needs Go, of the version in go.mod', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const root = join(import.meta.dirname, '../..');
  assert.equal(builtFrom(join(root, 'k6')), k6Sources(root));
  assert.equal(builtFrom(join(dir, 'k6')), undefined);
  writeFileSync(join(dir, 'k6'), 'no program of ours');
  assert.equal(builtFrom(join(dir, 'k6')), undefined);
  writeFileSync(join(dir, 'go.mod'), 'module x\n\ngo 9.9.1\n');
  const PATH = process.env.PATH;
  t.after(() => {
    process.env.PATH = PATH;
  });
  process.env.PATH = dir;
  await assert.rejects(buildGo(dir, 'x', '.'), /^Error: Go 9\.9\.1 or newer is needed \(.*go cannot be run/);
});

test('an unknown flag is refused', async () => {
  const setup = execa(process.execPath, [join(import.meta.dirname, 'main.mjs'), '--tset']);
  await assert.rejects(setup, {
    exitCode: 1,
    stderr: 'setup  --tset is not known; allowed: --test, --bench',
  });
});

// Regression: URLs of files were not decoded, so every scenario ended with
// "stat …/my%20project/…: no such file or directory".
test('scenarios run in a checkout whose path has spaces, non-ASCII letters, % and #', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const checkout = join(dir, 'my 100% 성능 #1 project');
  await copyCheckout(checkout);
  const env = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', TOPOLOGY: 'cluster', TLS: 'true' };
  const run = (...args: string[]) =>
    execa(join(checkout, 'node_modules/.bin/node'), args, { cwd: checkout, env, reject: false, all: true });
  const { all: setup } = await run('pipeline/setup/main.mjs');
  assert.equal(setup, 'setup  nothing to do');
  const settings = ['RATE=5', 'WARMUP_RATE=5', 'THINK=0.1', 'TIMEOUT=5'];
  const durations = ['WARMUP_DURATION=1', 'RAMP_DURATION=1', 'SUSTAINED_DURATION=1'];
  for (const [script, given] of [
    ['smoke.js', ['DURATION=1']],
    ['phases.js', [...settings, ...durations]], // k6 opens its CSV file differently
  ] as const) {
    const { all } = await run(
      'scenarios/run/run.ts',
      `scenarios/${script}`,
      '-q',
      ...given.flatMap((one) => ['-e', one]),
    );
    const [, page = `no report: ${all}`] = /^ *report +(.*)$/m.exec(String(all)) ?? [];
    assert.ok(existsSync(join(checkout, page)), page);
    const { account } = JSON.parse(readFileSync(join(checkout, dirname(page), 'run.json'), 'utf8'));
    assert.ok(account.arrived > 0, script);
    assert.equal(account.arrived, account.scheduled, script);
  }
});

test('neededPrograms depends on the settings and the package manager', () => {
  const mosquitto = ['mosquitto', 'mosquitto_passwd', 'mosquitto_sub'];
  assert.deepEqual(neededPrograms({}), ['redis-server', ...mosquitto]);
  assert.deepEqual(neededPrograms({ REDIS_URL: 'redis://x' }), mosquitto);
  assert.deepEqual(neededPrograms({ MQTT_URL: 'mqtt://x' }), ['redis-server']);
  assert.deepEqual(neededPrograms({ TOPOLOGY: 'cluster' }), ['redis-server', ...mosquitto, 'nginx']);
  assert.deepEqual(neededPrograms({ TOPOLOGY: 'cluster', INGEST_URL: 'http://x' }), []);
  assert.deepEqual(neededPrograms({ TLS: 'true' }), ['redis-server', ...mosquitto, 'openssl']);
  assert.deepEqual(neededPrograms({ INGEST_URL: 'http://x', MQTT_URL: 'mqtt://x' }), []);
  const all = (manager: string) =>
    neededPrograms({ INGEST_URL: 'http://x' }, { forTests: true }, (name: string) => name === manager);
  const servers = ['redis-server', ...mosquitto, 'nginx', 'openssl'];
  const others = ['faketime', 'pdftotext', 'promtool', 'gcc'];
  assert.deepEqual(all('apt-get'), [...servers, 'chromium-headless-shell', ...others, NCHAN]);
  assert.deepEqual(packagesFor([NCHAN], 'debian'), ['libnginx-mod-nchan']);
  assert.deepEqual(all('brew'), [...servers, 'chromium', ...others]);
  assert.deepEqual(neededPrograms({ REDIS_URL: 'redis://x' }, { forBench: true }), [
    'redis-server',
    ...mosquitto,
    'wrk',
  ]);
});

test('installCommand names the packages of each package manager', () => {
  const programs = ['redis-server', 'mosquitto', 'mosquitto_passwd', 'mosquitto_sub'];
  assert.deepEqual(packagesFor(programs, 'debian'), ['redis-server', 'mosquitto', 'mosquitto-clients']);
  const on = (manager: string) => installCommand(programs, (name: string) => name === manager);
  assert.equal(on('brew'), 'brew install redis mosquitto');
  assert.equal(on('dnf'), 'sudo dnf install redis mosquitto');
  assert.equal(on('apk'), 'sudo apk add redis mosquitto mosquitto-clients');
  assert.equal(on('apt-get'), 'sudo apt-get install redis-server mosquitto mosquitto-clients');
  assert.match(on('none'), /package manager: redis-server, mosquitto/);
});

test('isInstalled finds programs', () => {
  assert.ok(isInstalled('sh'));
  assert.ok(!isInstalled('no-such-program'));
  assert.ok(isInstalled(import.meta.filename));
  assert.ok(!isInstalled('/no/such/module.so'));
});

test('a shell can parse the install script', async () => {
  await run('sh', ['-n', '-c', aptScript(['redis-server'])]);
});

test('tests, types and documents are not sources of k6', () => {
  const sources = [
    'cmd/k6/main.go',
    'go.mod',
    'go.sum',
    'internal/render/page.gen.html',
    'internal/render/static.gohtml',
  ];
  for (const path of sources) assert.ok(isK6Source(path), path);
  for (const path of ['arrival/pacer_test.go', 'index.d.ts', 'README.md']) assert.ok(!isK6Source(path), path);
});

// Regression: pages were not built again after a change of the limits that they show.
test('each module of a page is one of its sources', async () => {
  const root = join(import.meta.dirname, '../..');
  const sources = new Set(pageFiles(root));
  for (const mode of ['production', 'comparison', 'referee', 'history']) {
    const modules = new Set<string>();
    const noted = {
      name: 'noted',
      moduleParsed: ({ id }: { id: string }) => void modules.add(relative(root, id.replace(/\?.*/, ''))),
    };
    const configFile = join(root, 'reports/vite.config.ts');
    await build({ configFile, mode, plugins: [noted], build: { write: false } });
    const own = [...modules].filter((path) => /^(reports|pipeline|scenarios|extensions)\//.test(path));
    assert.ok(own.length > 10, mode);
    for (const path of own) assert.ok(sources.has(path), path);
  }
});

test('the hash of sources covers contents and names, in bytewise order', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  mkdirSync(join(dir, 'b'));
  for (const name of ['b/a.go', 'a.go', 'B.go']) writeFileSync(join(dir, name), name);
  const names = filesBelow(dir);
  assert.deepEqual(names, ['B.go', 'a.go', 'b/a.go']);
  const hash = hashFiles(dir, names);
  // printf 'B.go\0B.go\0a.go\0a.go\0b/a.go\0b/a.go\0' | sha256sum
  assert.equal(hash, '3ab77e46114d3b4a9d7f9fc417d964b6c50fc1e341ee2be33f3717525c010242');
  writeFileSync(join(dir, 'a.go'), 'changed');
  assert.notEqual(hashFiles(dir, names), hash);
});

test('a step that takes long shows on a terminal that it lives', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  for (const isTTY of [true, false]) {
    let printed = '';
    const out = { isTTY, write: (text: string) => (printed += text) };
    await step('k6', async () => t.mock.timers.tick(2500), 'setup', out);
    assert.equal(printed.match(/\rsetup {2}k6 … \d+ s/g)?.length ?? 0, isTTY ? 2 : 0);
    assert.match(printed, isTTY ? /\[Ksetup {2}k6 … ok \d+\.\d s\n$/ : /^setup {2}k6 … ok \d+\.\d s\n$/);
  }
});

test('two set-ups run one after the other', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  let inside = 0;
  const work = async () => {
    inside++;
    assert.equal(inside, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inside--;
  };
  await Promise.all([locked(join(dir, 'lock'), work), locked(join(dir, 'lock'), work)]);
});

test('the lock of a dead holder is taken over, even if another process has its pid', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const lock = join(dir, 'lock');
  const gone = [
    '2147483646 1',
    // Regression: pids of a container begin again. Its supervisor took a lock with its own pid for another's.
    `${process.pid} 1`,
    `${process.ppid} 1`,
    '',
  ];
  for (const holder of gone) {
    writeFileSync(lock, holder);
    assert.equal(await locked(lock, async () => 'done'), 'done');
  }
  assert.deepEqual(readdirSync(dir), []);
});

// Regression: all processes read the same dead pid, and each removed the new lock of the previous one.
test('only one of many processes takes over the lock of a dead holder', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const lock = join(dir, 'lock');
  writeFileSync(lock, '2147483646 1');
  const script = `const { takeLock } = await import(${JSON.stringify(join(import.meta.dirname, 'lock.mjs'))});
    console.log('ready');
    process.stdin.once('data', () => console.log(takeLock(${JSON.stringify(lock)}) ?? 'mine'));`;
  const all = Array.from({ length: 10 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const lineOf = async ({ stdout }: (typeof all)[number]) => String((await once(stdout, 'data'))[0]).trim();
  await Promise.all(all.map(lineOf));
  const lines = Promise.all(all.map(lineOf));
  for (const { stdin } of all) stdin.write('go');
  const said = await lines;
  for (const { stdin } of all) stdin.end();
  await Promise.all(all.map((child) => child.exitCode ?? once(child, 'exit')));
  const [winner] = said.flatMap((line, i) => (line === 'mine' ? [String(all[i]?.pid)] : []));
  assert.deepEqual(
    said.filter((line) => line !== 'mine'),
    Array.from({ length: 9 }, () => winner),
  );
});

test('the error of a failed program names it and has its last lines', async () => {
  const script = 'for i in $(seq 30); do echo line $i; done; exit 3';
  await assert.rejects(run('sh', ['-c', script]), (error: Error & { output: string }) => {
    assert.equal(error.message, 'sh -c ended with code 3');
    assert.equal(error.output.split('\n').length, 20);
    assert.ok(error.output.endsWith('line 30'));
    return true;
  });
});
