/** `npm run test:artillery`: the npm packages, installed next to Artillery in an empty folder. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../../pipeline/test/services.ts';
import { shownRun } from '../../../reports/render.ts';
import { installed, QUIET } from '../../../scenarios/run/artillery-run.ts';
import { assertAllArrived, Pipeline, readRun, reasonsOf } from '../../../scenarios/test/harness.ts';

const SCRIPT = `
config:
  target: http://arrival.invalid
  phases: [{ name: sustained, duration: 2, arrivalRate: 20 }]
  plugins:
    arrival: { profile: profile.yml }
scenarios:
  - flow: [{ post: { url: /messages } }]
`;
const PROFILE = `
phases: [{ name: sustained, duration: 2, arrivalRate: 20 }]
flows: [{ name: direct, target: user, targets: 10 }]
`;

test('the packages, installed next to Artillery, write a report without the repository', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const [packages, app] = [join(dir, 'packages'), join(dir, 'app')];
  await execa(process.execPath, [join(import.meta.dirname, '../package/release.ts'), '--to', packages]);

  // Hard links to the installed Artillery, if possible. npm replaces the files that it changes, except
  // .package-lock.json.
  const artillery = join(dirname(await installed(process)), '../../..');
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const [, flags = ''] = /^ {4}npm install (--.*?) artillery /m.exec(readme) ?? [];
  const npm = ['install', ...flags.split(' '), '--prefer-offline', '--no-audit', '--no-fund'];
  cpSync(join(artillery, 'package.json'), join(app, 'package.json'));
  cpSync(join(artillery, 'package-lock.json'), join(app, 'package-lock.json'));
  const copy = ['-R', join(artillery, 'node_modules'), app];
  await execa('cp', ['-l', ...copy]).catch(() => execa('cp', ['-f', ...copy]));
  rmSync(join(app, 'node_modules/.package-lock.json'));
  const tarballs = readdirSync(packages).map((name) => join(packages, name));
  assert.equal(tarballs.length, 2, 'the plugin, and the recorder of this platform');
  await execa('npm', [...npm, ...tarballs], { cwd: app, env: QUIET });

  writeFileSync(join(app, 'load.yml'), SCRIPT);
  writeFileSync(join(app, 'profile.yml'), PROFILE);
  const run = (env: NodeJS.ProcessEnv) =>
    execa(process.execPath, ['node_modules/artillery/bin/run', 'run', 'load.yml'], {
      cwd: app,
      env: { PATH: '/usr/bin:/bin', HOME: dir, ...QUIET, ...env },
      extendEnv: false,
      reject: false,
      all: true,
    });

  const pipeline = await Pipeline.start();
  try {
    const { all: text } = await run(pipeline.own);
    const runs = join(app, 'reports/runs');
    const [name = ''] = readdirSync(runs);
    const result = await readRun(join(runs, name), text);
    assertAllArrived(result);
    assert.deepEqual(result.account.requests, { scheduled: 40, sent: 40, retried: 0, failed: 0 });
    assert.deepEqual(reasonsOf(result), []);
    assert.equal(result.run.tool.name, 'artillery');
    assert.equal(shownRun(readFileSync(join(runs, name, 'index.html'), 'utf8')).run.id, result.run.id);

    rmSync(join(app, 'node_modules/@arrival-bench'), { recursive: true });
    const { all, exitCode } = await run(pipeline.own);
    assert.match(String(all), /^arrival: no k6 with the arrival extension .*; npm install @arrival-bench/m);
    assert.equal(exitCode, 1);
    assert.doesNotMatch(String(all), /http\.requests/, 'nothing was sent');
  } finally {
    await pipeline.stop();
  }
});
