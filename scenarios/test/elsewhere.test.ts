/** A checkout with a space in its path, used from another working directory by an unprivileged user. */
import assert from 'node:assert/strict';
import { chown, cp, mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, Pipeline, ROOT, readRun } from './harness.ts';

const NOBODY = 65534;
const LOAD = ['-e', 'RATE=50', '-e', 'DURATION=1'];

describe('a path with a space, another working directory, an unprivileged user', () => {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  let dir: string;
  let checkout: string;
  before(async () => {
    dir = await temporaryDirectory();
    checkout = join(dir, 'a path/arrival');
    const excluded = ['.git', '.stack', 'k6', 'reports/runs'].map((name) => join(ROOT, name));
    await cp(ROOT, checkout, {
      recursive: true,
      // A folder of ours has node_modules too where its user installed them.
      filter: (path) => !excluded.includes(path) && basename(path) !== 'node_modules',
    });
    // The results of the set-up are large and read-only: hard-link them if possible.
    const made = [join(ROOT, 'node_modules'), join(ROOT, 'k6'), checkout];
    await execa('cp', ['-lR', ...made]).catch(() => execa('cp', ['-fR', ...made]));
    await mkdir(join(checkout, 'reports/runs'));
    if (user.uid !== undefined)
      for (const folder of ['..', '../..', '.', 'reports', 'reports/runs'])
        await chown(join(checkout, folder), NOBODY, NOBODY);
  });
  after(() => remove(dir));

  /** Runs a program of the checkout: k6 from /, the others from the checkout as npm does. */
  const run = (program: string, args: string[], env: NodeJS.ProcessEnv) =>
    execa(join(checkout, program), args, {
      cwd: program === 'k6' ? '/' : checkout,
      env: { PATH: process.env.PATH, HOME: dir, NO_COLOR: '1', ...env },
      extendEnv: false,
      reject: false,
      all: true,
      detached: true,
      ...user,
    });
  const node = (script: string, args: string[] = []) =>
    run('node_modules/.bin/node', [join(checkout, script), ...args], {
      INGEST_PORT: '0',
      REDIS_PORT: '0',
      MQTT_PORT: '0',
    });

  test('the set-up has nothing to do; a scenario starts the pipeline and writes a report', async () => {
    assert.equal((await node('pipeline/setup/main.mjs')).stdout, 'setup  nothing to do');
    const { exitCode, all } = await node('scenarios/run/run.ts', [
      join(checkout, 'scenarios/smoke.js'),
      ...LOAD,
    ]);
    const runs = join(checkout, 'reports/runs');
    const [name = ''] = await readdir(runs);
    const result = await readRun(join(runs, name), all);
    assertPass(result, exitCode);
    assertAllArrived(result);
    assert.ok((await readdir(join(runs, name))).includes('index.html'));
  });

  test('k6 runs a script by its absolute path', async () => {
    const pipeline = await Pipeline.start();
    try {
      const place = join(dir, 'a run');
      const env = { ...pipeline.own, RUN_DIR: place, K6_NO_USAGE_REPORT: 'true' };
      const { exitCode, all } = await run(
        'k6',
        ['run', '-q', ...LOAD, join(checkout, 'scenarios/smoke.js')],
        env,
      );
      const result = await readRun(place, all);
      assertPass(result, exitCode);
      assertAllArrived(result);
    } finally {
      await pipeline.stop();
    }
  });
});
