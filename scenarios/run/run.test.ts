import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { commandOf } from '../../pipeline/shared/command.ts';
import { K6 } from '../../pipeline/stack/k6.ts';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertRefused, run as command, terminal } from '../test/harness.ts';
import { runName } from './directory.ts';
import { linkTo, openPage } from './io.ts';
import { assignmentsOf, firstProblem, withoutVariables } from './k6.ts';
import { main } from './run.ts';
import { variablesIn } from './usage.ts';

const MAIN = join(import.meta.dirname, 'run.ts');

let dir: string;
let script: string;
before(async () => {
  dir = await temporaryDirectory();
  script = join(dir, 'scenario.js');
  await writeFile(
    script,
    `import { sleep } from 'k6';
import exec from 'k6/execution';
if (__ENV.BROKEN) throw new Error('weights sum to 0: at least one flow needs a weight above 0');
export const options = { vus: 1, iterations: 1, thresholds: { iterations: ['count>' + (__ENV.COUNT || 0)] } };
export default function () {
  console.log('RUN_DIR ' + __ENV.RUN_DIR + ' COMMAND ' + __ENV.ARRIVAL_COMMAND + ' pid');
  if (__ENV.SLEEP) sleep(Number(__ENV.SLEEP));
}
`,
  );
});
after(() => remove(dir));

/** Variables of a command whose pipeline, if it starts one, is below `dir`, on free ports. */
const elsewhere = () => ({
  STACK_DIR: join(dir, 'stack'),
  INGEST_PORT: '0',
  REDIS_PORT: '0',
  MQTT_PORT: '0',
  npm_lifecycle_event: undefined,
});

/** Asserts that the command is refused in one line, and that nothing was started. */
async function refused(args: readonly string[], env: NodeJS.ProcessEnv, message: string | RegExp) {
  await assertRefused(main, args, { ...elsewhere(), ...env }, message);
  assert.ok(!existsSync(join(dir, 'stack')));
}

interface Started {
  output(): string;
  ended: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

function start(args: string[], env: Record<string, string | undefined> = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, ...elsewhere(), ...env },
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { output: () => output, ended, signal: (signal) => child.kill(signal) };
}

/** A user's own pipeline, which these scripts never call. */
const OWN = { INGEST_URL: 'http://127.0.0.1:1', MQTT_URL: 'mqtt://127.0.0.1:1' };

/** Pids of the k6 processes that run this test's script. */
async function k6Pids(): Promise<string[]> {
  const ps = spawn('ps', ['-eo', 'pid=,args=']);
  let table = '';
  ps.stdout.on('data', (chunk) => {
    table += chunk;
  });
  await once(ps, 'close');
  const rows = table.split('\n').filter((row) => row.includes(`${K6} run`) && row.includes(script));
  return rows.map((row) => row.trim().split(' ')[0] as string);
}

test('runName joins script, topology, network and time', () => {
  const now = new Date('2026-11-21T09:48:00.123Z');
  const name = runName('scenarios/ramp.js', { TOPOLOGY: 'cluster', NETWORK: 'lan' }, now);
  assert.equal(name, 'ramp-cluster-lan-20261121T094800Z');
});

test('a pipeline file that a script cannot take is refused in one line', async () => {
  const file = join(dir, 'my.yml');
  const at = (text: string) => writeFile(file, `ingest: { url: 'http://127.0.0.1:1' }\n${text}\n`);
  await at('senders: 4');
  const sweep = ['scenarios/sweep.js', '--pipeline', file];
  await refused(
    sweep,
    {},
    /my\.yml:2:10: senders is SENDERS, which is not a setting of scenarios\/sweep\.js: leave it out$/,
  );
  await at('verify: off');
  await refused(sweep, { VERIFY: '1' }, /my\.yml:2:9: verify is VERIFY, which has another value/);
  await at('target: shop');
  for (const flag of [['--pipeline', file], [`--pipeline=${file}`]])
    await refused(
      ['scenarios/connections.js', ...flag],
      {},
      /my\.yml:2:9: TARGET is set for a pipeline of your own, which connections cannot measure, as its devices/,
    );
  await at('pth: /x');
  await refused(sweep, {}, /my\.yml:2:1: pth is not known.*; allowed: arrive, /);
  await refused(
    ['scenarios/ramp.js', '--pipeline'],
    {},
    /^--pipeline has no value; allowed: a pipeline file/,
  );
  await refused(['scenarios/ramp.js', '--pipeline', 'none.yml'], {}, /none\.yml: no such file/);
  await refused([...sweep, '--pipeline=other.yml'], {}, /^--pipeline is given twice$/);
  await refused(['scenarios/ramp.js', '--repeat=2', '--repeat', '3'], {}, /^--repeat is given twice$/);
});

test('commandOf quotes arguments and hides secrets', () => {
  const command = (args: string[], npmScript?: string) => commandOf('a.js', args, npmScript, { env: {} });
  assert.equal(command([], 'ramp'), 'npm run ramp');
  assert.equal(command(['-e', 'RATE=3000'], 'ramp'), 'npm run ramp -- -e RATE=3000');
  const anyScript = "npm run scenario -- a.js -e 'NOTE=it'\\''s mine'";
  assert.equal(command(['-e', "NOTE=it's mine"], 'scenario'), anyScript);
  assert.equal(command(['-e', "NOTE=it's mine"]), anyScript);
  const secrets = [
    '-e',
    'INGEST_TOKEN=s3cret',
    '-e=API_KEY=s3cret',
    '--env=MQTT_URL=mqtt://user:s3cret@host',
    '--out',
    'x=http://u:s3cret@h',
  ];
  assert.equal(
    command(secrets, 'ramp'),
    'npm run ramp -- -e INGEST_TOKEN=… -e=API_KEY=… --env=MQTT_URL=… --out x=http://…@h',
  );
  // Regression: a path and a body were shown.
  const ingest = [
    '-eINGEST_PATH=/m?key=s3cret&s3cret',
    '-e=BODY={"key":"s3cret"}',
    '-e',
    'BODY_FILE=/a.json',
  ];
  assert.equal(
    command(ingest, 'ramp'),
    "npm run ramp -- '-eINGEST_PATH=/m?key=…&…' -e=BODY=… -e BODY_FILE=/a.json",
  );
});

test('commandOf includes the settings from the environment', () => {
  const env = {
    ...{
      QUEUE: 'list',
      TOPOLOGY: 'cluster',
      RATE: '300',
      RAMP_DURATION: '',
      CANARY: 'off',
      RELAY_WINDOW: '9',
    },
    ...{ PROFILE: "it's mine.yml", RUN_DIR: '/tmp/x', RUN_ID: 'x', CONCURRENCY: '7', HOME: '/root' },
    ...{ INGEST_TOKEN: 's3cret', REDIS_URL: 'redis://u:s3cret@h', P99: '50' },
  };
  assert.equal(
    commandOf('scenarios/ramp.js', ['-q'], 'ramp', { env, names: variablesIn('scenarios/ramp.js') }),
    "CANARY=off INGEST_TOKEN=… P99=50 PROFILE='it'\\''s mine.yml' QUEUE=list RATE=300 REDIS_URL=… RELAY_WINDOW=9 " +
      'TOPOLOGY=cluster npm run ramp -- -q',
  );
  assert.equal(
    commandOf('', [], 'matrix', { env: { ...env, QUEUE: '' }, names: ['CONCURRENCY'] }),
    'CONCURRENCY=7 INGEST_TOKEN=… REDIS_URL=… RELAY_WINDOW=9 TOPOLOGY=cluster npm run matrix',
  );
});

test("firstProblem strips k6's prefix and stack trace", () => {
  assert.equal(firstProblem('Error: weights sum to 0\n\tat file:///a.js:2:7(13)\n'), 'weights sum to 0');
  assert.equal(firstProblem('TypeError: x is not a function\n\tat a\n'), 'x is not a function');
  assert.equal(firstProblem(''), '');
});

test('assignmentsOf reads -e and --env, withoutVariables removes them', () => {
  const args = ['-q', '-e', 'A=1', '--env', 'B=2', '--env=C=3', '-eD=4', '--vus', '3', '-e'];
  assert.deepEqual(assignmentsOf(args), ['A=1', 'B=2', 'C=3', 'D=4']);
  assert.deepEqual(withoutVariables(args), ['-q', '--vus', '3', '-e']);
});

test("--help prints a scenario's question and settings; without a scenario it lists all", async () => {
  const help = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await command(main, [...args, '--help'], elsewhere());
    assert.deepEqual([exitCode, stderr], [0, '']);
    return stdout;
  };
  const ramp = await help('scenarios/ramp.js');
  // Regression: a script's own settings stood below 30 lines on all.
  assert.match(ramp, /^How long does a message take to arrive while the load ramps up/);
  assert.match(ramp, /^ {2}P99 +ms .*default 250/m);
  assert.match(ramp, /^Settings of every scenario\n(?: {2}.*\n)* {2}CANARY /m);
  assert.match(ramp, /^Settings of a pipeline of your own\n(?: {2}.*\n)* {2}ARRIVE /m);
  assert.doesNotMatch(await help('scenarios/queue.js'), /pipeline of your own\n/);
  assert.match(await help(), /^ {2}ramp\.js +How long does a message take to arrive/m);
  assert.match(await help(script), /a name that is misspelt is not noticed/);
});

test('an unknown setting is refused before anything starts', async () => {
  await refused(
    ['scenarios/ramp.js', '-q', '-e', 'RTAE=3000'],
    {},
    /^RTAE is not a setting of scenarios\/ramp\.js, RATE is; allowed: .*\bP99, .*, and what --help lists/,
  );
});

// Regression: k6 refused them only after the pipeline's start, and took RATE=10 alone for a script.
test('an invalid flag or a word without a flag is refused before anything starts', async () => {
  for (const [args, message] of [
    [['-e'], /^-e has no value; allowed: -e NAME=value, and k6's own flags/],
    [['-q', 'RATE=10'], /^RATE=10 has no flag before it; allowed: -e NAME=value/],
    [['--quite'], /^--quite is not known, --quiet is; allowed: /],
    [['--vus'], /^--vus has no value; allowed: /],
    [['--duration'], /^--duration has no value; allowed: /],
    // Regression: the pipeline was up by then, and k6 missed a function `default`.
    [['--vus', '3'], /^--vus would replace the scenarios of scenarios\/smoke\.js, .*; allowed: the settings/],
    [['-i5'], /^-i would replace the scenarios/],
    [['--stage=1s:3'], /^--stage would replace the scenarios/],
    [['--vus', 'many'], /^invalid argument "many" for "-u, --vus" flag: .*; allowed: /],
    [
      ['-e', 'RUN_DIR=/proc/x'],
      /^RUN_DIR is \/proc\/x, which cannot be written: ENOENT; allowed: a directory/,
    ],
  ] as const) {
    await refused(['scenarios/smoke.js', ...args], {}, message);
  }
});

// Regression: each was ignored, or all runs had one id.
test('what --instances and --repeat decide is refused beside them, before anything starts', async () => {
  for (const [args, env, message] of [
    [['--instances=2', '--execution-segment', '0:1/2'], {}, /^--execution-segment is set, and --instances /],
    [['--instances=2', '--execution-segment-sequence=0,1'], {}, /^--execution-segment-sequence is set/],
    [['--instances=2', '-e', 'K6_EXECUTION_SEGMENT=0:1/2'], {}, /^K6_EXECUTION_SEGMENT is set/],
    [
      ['--instances=2'],
      { INSTANCES: '3' },
      /^INSTANCES is set, and --instances divides the load: leave out one/,
    ],
    [
      ['--repeat=2', '-e', 'RUN_ID=abcd'],
      {},
      /^RUN_ID is of one run, and each run has one of its own: leave it/,
    ],
  ] as const) {
    await refused(['scenarios/smoke.js', ...args], env, message);
  }
});

test('settings of -e reach the pipeline that the command starts', async () => {
  const run = start([script, '-q', '-e', 'INGEST_WORKERS=2', '-e', 'TOPOLOGY=cluster'], {
    STACK_DIR: join(dir, 'cluster'),
  });
  assert.equal(await run.ended, 0, run.output());
  assert.match(run.output(), /^stack {2}redis, mosquitto, ingest-1, ingest-2, relay-1, nginx … ready/m);
});

test("with the user's own pipeline it starts no other, and exits with k6's code", async () => {
  const good = start([script, '-q'], OWN);
  assert.equal(await good.ended, 0, good.output());
  assert.match(good.output(), /RUN_DIR .*\/reports\/runs\/scenario-single-loopback-\d{8}T\d{6}Z /);
  assert.match(
    good.output(),
    /COMMAND INGEST_PORT=0 INGEST_URL=… .* npm run scenario -- .*scenario\.js -q pid/,
  );
  assert.ok(!existsSync(join(dir, 'stack')));
  const failed = start([script, '-q', '-e', 'COUNT=7'], OWN);
  assert.equal(await failed.ended, 99);
});

test('RUN_DIR is the directory of the run, and is refused unless new or empty', async () => {
  const runDir = join(dir, 'run');
  await mkdir(runDir);
  for (const [args, env] of [
    [[], { RUN_DIR: runDir }],
    [['-e', `RUN_DIR=${runDir}`], {}],
  ] as const) {
    const run = start([script, '-q', ...args], { ...OWN, ...env });
    assert.equal(await run.ended, 0, run.output());
    assert.match(run.output(), new RegExp(`RUN_DIR ${runDir} `));
  }
  await writeFile(join(runDir, 'run.json'), '{}');
  const refused = start([script, '-q'], { ...OWN, RUN_DIR: runDir });
  assert.equal(await refused.ended, 1);
  assert.match(
    refused.output(),
    /^RUN_DIR is \S+, and there is something in it; allowed: .* new or empty\n$/,
  );
});

test('a broken script fails with its own message in one line, before anything starts', async () => {
  await refused([script, '-e', 'BROKEN=1'], {}, 'weights sum to 0: at least one flow needs a weight above 0');
});

test('a missing script fails with one line', async () => {
  await refused([join(dir, 'nowhere.js')], {}, /^there is no scenario [^\n]*nowhere\.js; allowed: [^\n]*$/);
  await refused(
    ['scenarios/nowhere.js'],
    {},
    /^there is no scenario scenarios\/nowhere\.js; allowed: [^\n]*$/,
  );
  // Regression: EISDIR: illegal operation on a directory, read
  await refused([dir], {}, /^there is no scenario [^\n]*; allowed: a file, [^\n]*$/);
});

test('a pipeline of the user without a broker is for scripts that receive elsewhere', async () => {
  const env = { INGEST_URL: 'http://127.0.0.1:1', MQTT_URL: undefined };
  await refused(
    ['scenarios/smoke.js'],
    env,
    /^mqtt\.url \(MQTT_URL\) is not set[^\n]*; allowed: [^\n]*websocket[^\n]*$/,
  );
  // Regression: every other script was refused, also one that receives by itself.
  const own = start([script], env);
  assert.equal(await own.ended, 0, own.output());
  await refused(
    ['scenarios/own.js', '-e', 'ARRIVE=webhook'],
    OWN,
    /^MQTT_URL is for ARRIVE=mqtt, and ARRIVE is webhook: leave it out$/,
  );
});

test('the command starts a pipeline, runs the script and stops the pipeline', async () => {
  const run = start([script, '-q']);
  assert.equal(await run.ended, 0, run.output());
  assert.match(run.output(), /^stack {2}redis, mosquitto, ingest-1, relay-1 … ready in [\d.,]+ s$/m);
  assert.ok(!existsSync(join(dir, 'stack/stack.json')));
});

// Regression: a run used the pipeline of another run, which stopped it.
test('a run refuses the pipeline of another run', async () => {
  const first = start([script, '-q', '-e', 'SLEEP=20']);
  await eventually(() => first.output().includes('RUN_DIR'), 'a run');
  await assertRefused(
    main,
    [script, '-q'],
    elsewhere(),
    /^the pipeline in \S+ \(pid \d+\) is another run's, and ends with it: [^\n]*$/,
  );
  first.signal('SIGINT');
  await first.ended;
});

// Regression: the exit code was 105, k6's code for an interruption.
test('a relay that dies ends k6; the command prints the reason and exits with 1', async () => {
  const run = start([script, '-q', '-e', 'SLEEP=20']);
  await eventually(() => run.output().includes('RUN_DIR'), 'a run');
  const stack = JSON.parse(await readFile(join(dir, 'stack/stack.json'), 'utf8'));
  process.kill(stack.processes['relay-1'], 'SIGKILL');
  assert.equal(await run.ended, 1);
  assert.match(run.output(), /^relay-1 was killed by SIGKILL$/m);
});

test('when k6 is killed, the command reports an incomplete run and exits with 137', async () => {
  const run = start([script, '-q', '-e', 'SLEEP=20'], OWN);
  await eventually(() => run.output().includes('RUN_DIR'), 'a run');
  const [pid] = await k6Pids();
  process.kill(Number(pid), 'SIGKILL');
  assert.equal(await run.ended, 137);
  assert.match(run.output(), /^k6 was killed by SIGKILL: the run is incomplete, it left no report$/m);
});

test('Ctrl-C reaches k6 once, and k6 ends gracefully', async () => {
  const run = start([script, '-q', '-e', 'SLEEP=20'], OWN);
  await eventually(() => run.output().includes('RUN_DIR'), 'a run');
  run.signal('SIGINT');
  assert.notEqual(await run.ended, 0);
  assert.doesNotMatch(run.output(), /killed/);
  assert.deepEqual(await k6Pids(), []);
});

// Regression: it exited with 1, the code of an error.
// Regression: signals waited for the end of the start, which did not come.
test('SIGTERM ends the start of a pipeline whose broker is silent', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const connected = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  const { io, printed, interrupt } = terminal();
  const env = { ...process.env, ...elsewhere(), MQTT_URL: `mqtt://127.0.0.1:${port}` };
  const ended = main([script], env, io);
  const [socket] = await connected;
  t.after(() => {
    socket.destroy();
    silent.close();
  });
  interrupt('SIGTERM');
  assert.equal(await ended, 130);
  assert.match(printed.stderr, /stopping/);
});

test('Ctrl-C ends a series with exit code 130', async () => {
  const series = start([script, '-q', '--repeat', '2', '-e', 'SLEEP=20'], { ...OWN, RUN_DIR: undefined });
  await eventually(() => series.output().includes('RUN_DIR'), 'a run');
  series.signal('SIGINT');
  assert.equal(await series.ended, 130);
  assert.doesNotMatch(series.output(), /repeat {2}2 of 2/);
});

test('k6 ends when the command is killed', async () => {
  const run = start([script, '-q', '-e', 'SLEEP=20'], { RUN_DIR: join(dir, 'killed') });
  await eventually(() => run.output().includes('RUN_DIR'), 'a run');
  run.signal('SIGKILL');
  await run.ended;
  await eventually(async () => (await k6Pids()).length === 0, 'the end of k6');
});

test('--open opens the page as the desktop does, and says where there is none', async () => {
  const bin = join(dir, 'bin');
  await mkdir(bin);
  for (const name of ['open', 'xdg-open']) {
    await writeFile(join(bin, name), `#!/bin/sh\nprintf %s "$1" > '${dir}/opened'\n`);
    await chmod(join(bin, name), 0o755);
  }
  const { io, printed } = terminal();
  await openPage('/a b/index.html', { PATH: bin }, io);
  assert.equal(await readFile(join(dir, 'opened'), 'utf8'), '/a b/index.html');
  await openPage('/a b/index.html', { PATH: join(dir, 'nowhere') }, io);
  await eventually(
    () => /^--open: \S+ cannot open file:\/\/\/a%20b\/index\.html\n$/.test(printed.stderr),
    'a line',
  );
});

test('the path of a report is a link on a terminal', () => {
  const at = (isTTY: boolean) =>
    linkTo('reports/runs/a b/index.html', { stdout: { isTTY } as NodeJS.WriteStream });
  assert.equal(at(false), 'reports/runs/a b/index.html');
  assert.match(at(true), /^file:\/\/\/.*\/reports\/runs\/a%20b\/index\.html$/);
});
