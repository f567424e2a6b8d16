import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { identity } from '../../pipeline/setup/lock.mjs';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { main } from '../run/artillery.ts';
import { assertRefused, node, ROOT } from './harness.ts';

// Regression: they were refused only after Artillery's installation (470 MB) and the pipeline's start.
test('an invalid file or flag is refused before Artillery is installed', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const environments = join(dir, 'environments.yml');
  const ramp = parse(await readFile(join(ROOT, 'scenarios/ramp.artillery.yml'), 'utf8'));
  ramp.config.plugins.arrival.profile = join(ROOT, 'scenarios/profiles/ramp.yml');
  ramp.config.environments = { quick: { plugins: { arrival: { qoss: 0 } } } };
  await writeFile(environments, stringify(ramp));
  const elsewhere = join(dir, 'elsewhere.yml');
  ramp.config.target = 'http://ingest.example';
  await writeFile(elsewhere, stringify(ramp));
  const variables = join(dir, 'variables.yml');
  ramp.config.target = '{{ $env.TARGET }}';
  ramp.config.environments = { quick: {} };
  ramp.config.http.pool = '{{ $processEnvironment.POOL }}';
  ramp.config.phases = [{ name: '{{ $environment }}', duration: 1, arrivalRate: '{{ $env.RATE }}' }];
  await writeFile(variables, stringify(ramp));
  const open = join(dir, 'open.yml');
  ramp.config.http.pool = 'x{{ $randomNumber(1, 2) }}';
  await writeFile(open, stringify(ramp));
  const rides = join(dir, 'rides.yml');
  ramp.config.plugins.arrival = { messages: 'POST /none', id: 'id' };
  ramp.config.http.pool = 8;
  ramp.config.target = 'http://there.example';
  ramp.config.phases = [{ duration: 1, arrivalRate: 2 }];
  await writeFile(rides, stringify(ramp));
  const dotenv = join(dir, 'pipeline.env');
  await writeFile(dotenv, 'INGEST_URL=http://other.example\nMQTT_URL=moon\n');
  const cases: [args: string[], env: NodeJS.ProcessEnv, says: RegExp][] = [
    [['nope.yml'], {}, /^there is no nope\.yml; allowed: a file, such as scenarios\/ramp\.artillery\.yml$/],
    [
      ['scenarios/profiles/ramp.yml'],
      {},
      /^config\.plugins\.arrival is missing; allowed: messages and id, .*, or profile$/,
    ],
    [['--quite'], {}, /^--quite is not known, --quiet is; allowed: .*--overrides/],
    [['-e'], {}, /^Option '-e, --environment <value>'.*; allowed: /],
    [
      ['-e', 'RATE=10'],
      {},
      /^-e RATE=10 is not an environment of scenarios\/ramp\.artillery\.yml; allowed: full$/,
    ],
    // Regression: it was refused for the options of config that it does not repeat.
    [['-e', 'quick', environments], {}, /^config\.plugins\.arrival has qoss, which is not known, qos is; /],
    // Regression: these ended Artillery with a stack trace, or were left out with a warning.
    [['--overrides', '{bad'], {}, /^--overrides is \{bad; allowed: a JSON object$/],
    [['--variables', '[]'], {}, /^--variables is \[\]; allowed: a JSON object$/],
    [['--dotenv', 'none.env'], {}, /^--dotenv is none\.env, which is not there; allowed: a file$/],
    // Regression: Artillery alone read it, after a pipeline had been started that the run did not use.
    [
      ['--dotenv', dotenv, elsewhere],
      {},
      /^config\.target is http:\/\/ingest\.example; .* go to INGEST_URL$/,
    ],
    [['--env-file', dotenv], {}, /^MQTT_URL is "moon": it has no scheme; /],
    [['--dotenv', dir], {}, /^--dotenv is .*, which cannot be read; allowed: a file of lines NAME=value$/],
    // Regression: variables of the environment were refused as they are written.
    [
      ['-e', 'quick', variables],
      { TARGET: 'http://there.example' },
      /^config\.target is http:\/\/there\.example; allowed: http:\/\/arrival\.invalid, /,
    ],
    [['-e', 'quick', rides], {}, /^config\.plugins\.arrival\.messages is "POST \/none", which no request/],
    [[open], { RUN_DIR: '/proc/x' }, /^RUN_DIR is \/proc\/x, /], // the plugin checks what Artillery makes of it
    [['a.yml', 'b.yml'], {}, /^b\.yml is one file too many; /],
    [[], { RUN_DIR: '/proc/x' }, /^RUN_DIR is \/proc\/x, which cannot be written: ENOENT; /],
  ];
  for (const [args, env, says] of cases) await assertRefused(main, args, env, says);
  const [[args, env, says] = assert.fail()] = cases;
  const { stderr, stdout, exitCode } = await node(['scenarios/run/artillery.ts', ...args], env);
  assert.match(stderr, says);
  assert.deepEqual([stdout, exitCode], ['', 1]);
});

// Regression: Artillery kept sending for the whole profile.
test('Artillery ends when the command that runs it is killed', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const bin = join(dir, 'artillery.mjs');
  await writeFile(bin, 'console.log(process.pid); setInterval(() => {}, 1000);');
  const script = `import { ArtilleryRun } from ${JSON.stringify(join(import.meta.dirname, '../run/artillery-run.ts'))};
    const run = new ArtilleryRun(${JSON.stringify(bin)}, [], process.env);
    console.error('it is held');
    await run.ended;`;
  const command = spawn(process.execPath, ['--input-type=module', '-e', script]);
  const [[text]] = await Promise.all([once(command.stdout, 'data'), once(command.stderr, 'data')]);
  const pid = Number(text);
  assert.ok(identity(pid));
  command.kill('SIGKILL');
  await eventually(() => identity(pid) === undefined, "Artillery's end");
});
