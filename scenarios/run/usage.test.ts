import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { main as compare } from '../campaigns/compare/main.ts';
import { main as deployments } from '../campaigns/deployments.ts';
import { main as matrix } from '../campaigns/matrix/main.ts';
import { main as workers } from '../campaigns/workers.ts';
import { count, number, text } from '../lib/env.js';
import { terminal } from '../test/harness.ts';
import { main as artillery } from './artillery.ts';
import {
  checkVariables,
  declaredBy,
  headOf,
  leaveOutIgnored,
  linesOf,
  usageOf,
  variablesIn,
} from './usage.ts';

test('linesOf prints unit, meaning, default and allowed values of each setting', () => {
  const declared = {
    RATE: number(15_000, 'requests/s', 'of the load', { min: 1 }),
    LIMIT: number(({ RATE }) => Number(RATE), '', 'by default RATE'),
    PLAIN: count('', '', 'of them', { max: 9 }),
    FILE: text('a.yml', 'a file'),
  };
  assert.deepEqual(linesOf(declared).split('\n'), [
    '  RATE                requests/s of the load (default 15000; 1 to 1e9)',
    '  LIMIT               by default RATE (default 15000; 0 to 1e9)',
    '  PLAIN               of them (whole numbers from 1 to 9)',
    '  FILE                a file (default a.yml)',
  ]);
});

test('an unknown setting is refused, and the error suggests the nearest name', () => {
  const ramp = (...args: string[]) => checkVariables('scenarios/ramp.js', args, {});
  ramp(
    '-q',
    '-e',
    'RATE=1',
    '--env=P99=1',
    '-eQUEUE=list',
    '-e',
    'RUN_DIR=x',
    '-e',
    'K6_X=1',
    '--tag',
    'A=b',
  );
  assert.throws(
    () => ramp('-e', 'RATE=1', '-e', 'RTAE=3000'),
    /^ConfigError: RTAE is not a setting .* RATE is; allowed: /,
  );
  assert.throws(
    () => ramp('--env=P9=1'),
    /P9 is not a setting of scenarios\/ramp\.js, P99 is; allowed: .*\bSENDERS\b/,
  );
  assert.throws(
    () => checkVariables('scenarios/connections.js', ['-e', 'P99=9'], {}),
    /^ConfigError: P99 is not a setting/,
  );
  assert.throws(
    () => checkVariables('scenarios/capacity.js', ['-e', 'PROBE=9'], {}),
    /^ConfigError: PROBE is not a setting/,
  );
  const capacity = { name: 'npm run capacity', settings: ['PROBE'], chooses: ['RATE'] };
  checkVariables('scenarios/capacity.js', ['-e', 'PROBE=9'], {}, capacity);
  // Regression: the search silently ignored RATE.
  assert.throws(
    () => checkVariables('scenarios/capacity.js', ['-e', 'RATE=9'], {}, capacity),
    /^ConfigError: RATE is not a setting of npm run capacity; allowed: .*\bPROBE\b/,
  );
  for (const script of ['scenarios/ramp.js', 'own.js'])
    assert.throws(() => checkVariables(script, ['-e', 'RATE'], {}), {
      message: '-e RATE sets nothing; allowed: -e NAME=value',
    });
});

test('an invalid value is refused, from a flag and from the environment', () => {
  const env: NodeJS.ProcessEnv = {};
  const ramp = (...args: string[]) => checkVariables('scenarios/ramp.js', args, env);
  assert.throws(() => ramp('-e', 'SENDERS=0'), {
    message: 'SENDERS is "0"; allowed: whole numbers from 1 to 10000',
  });
  env.CANARY = 'no';
  assert.throws(() => ramp(), { message: 'CANARY is "no"; allowed: true, on, false, off' });
  ramp('-e', 'CANARY=off');
});

// Regression: they were refused, or ignored in the environment.
test('each script that asks a question takes the settings of a pipeline of your own', () => {
  const settings = {
    ARRIVE: 'sse',
    SSE_URL: 'http://h',
    INGEST_PATH: '/v1',
    BODY: '{{id}}',
    ID_FORMAT: 'uuid',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const names = 'smoke ramp sweep capacity spike soak fixed sessions phases fuzz own push';
  for (const name of names.split(' ')) {
    const script = `scenarios/${name}.js`;
    checkVariables(script, flags, {});
    checkVariables(script, [], settings);
    assert.ok(variablesIn(script).includes('WEBSOCKET_URL'), name);
    assert.throws(() => checkVariables(script, [], { DELIVERIES: '99' }), /^ConfigError: DELIVERIES is "99"/);
  }
});

// Regression: the search for the capacity ignored ARRIVE, BODY and INGEST_PATH of the environment.
test('a script that cannot measure a pipeline of your own refuses its settings, and says why', () => {
  const why = {
    ingest: 'it reads the queue',
    queue: 'it writes into the queue itself',
    broker: 'it publishes to the broker itself',
    connections: 'its devices publish to the broker themselves',
    throughput: 'its clients publish to the broker themselves',
  };
  for (const [name, reason] of Object.entries(why))
    for (const setting of ['ARRIVE', 'BODY', 'TARGET', 'STAGES', 'WEBHOOK_ADDRESS']) {
      const message = new RegExp(
        `^ConfigError: ${setting} is set for a pipeline .* ${name} .*, as ${reason}`,
      );
      const script = `scenarios/${name}.js`;
      assert.throws(() => checkVariables(script, ['-e', `${setting}=sse`], {}), message);
      assert.throws(() => checkVariables(script, [], { [setting]: 'sse' }), message);
    }
  checkVariables('scenarios/broker.js', [], { QOS: '0', SENDERS: '3' }); // its own
});

// Regression: the flag was only unknown to them.
test('a command that measures no pipeline of your own by a file says why', async () => {
  const mains = { artillery, compare, matrix, deployments, workers };
  const why = {
    artillery: /the script says what is posted .*MQTT_URL/,
    compare: /send the default message; INGEST_URL,/,
    matrix: /in each topology; a script takes it, like npm run ramp -- --pipeline/,
    deployments: /in each variant; a script takes it/,
    workers: /in each variant; a script takes it/,
  };
  for (const [name, main] of Object.entries(mains)) {
    const message = why[name as keyof typeof mains];
    for (const args of [['--pipeline', 'my.yml'], ['--pipeline=my.yml']])
      await assert.rejects(main(args, {}, terminal().io), (error: Error) => {
        assert.match(error.message, message);
        return error.message.startsWith(`--pipeline is not for npm run ${name}: `);
      });
  }
});

// Regression: SENDERS=4 npm run … connections.js used its default, and nothing said so.
test('a setting of another script in the environment is left out, in one line', () => {
  const { io, printed } = terminal();
  const env = { SENDERS: '4', HOURS: '1', QUEUE: 'list', PROBE: '3', HOME: '/root', P99: '' };
  leaveOutIgnored('scenarios/connections.js', env, io, { settings: ['PROBE'] });
  assert.match(printed.stderr, /^(?=.*\bSENDERS\b)(?=.*\bHOURS\b).* ignored.*connections\.js\n$/);
  assert.doesNotMatch(printed.stderr, /QUEUE|PROBE|HOME|P99/);
  assert.deepEqual(Object.keys(env), ['QUEUE', 'PROBE', 'HOME', 'P99']);
  leaveOutIgnored('scenarios/connections.js', env, io);
  leaveOutIgnored('own.js', { SENDERS: '4' }, io); // whose settings are not known
  assert.match(printed.stderr, /^.*\n$/);
});

test("a user's own script declares no settings: any name is accepted, and --help warns", async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const script = join(dir, 'ramp.js');
  await writeFile(
    script,
    '// What does it do?\n//   like this\n\n__ENV.OTHER; __ENV.RTAE; {{ $env.YAML }}; read({ OWN: 1 })\n',
  );
  assert.equal(declaredBy(script), undefined);
  checkVariables(script, ['-e', 'RTAE=1'], {});
  assert.deepEqual(headOf(script), ['What does it do?', '  like this']);
  assert.match(usageOf(script), /^What does it do\?\n {2}like this\n\n.* misspelt /);
  assert.deepEqual(
    ['OTHER', 'RTAE', 'YAML', 'OWN', 'CANARY', 'P99'].filter((name) => variablesIn(script).includes(name)),
    ['OTHER', 'RTAE', 'YAML', 'OWN', 'CANARY'],
  );
});
