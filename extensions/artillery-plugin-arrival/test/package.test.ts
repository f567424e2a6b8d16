/** The npm package: the content of its tarball, and a run in a folder with nothing else. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { parse } from 'yaml';
import { K6 } from '../../../pipeline/stack/k6.ts';
import { remove, temporaryDirectory } from '../../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, Pipeline, ROOT, readRun } from '../../../scenarios/test/harness.ts';
import { PACKAGE } from '../recorder.ts';

const PLUGIN = join(import.meta.dirname, '..');

describe('the npm package', () => {
  let dir: string;
  let files: string[];
  before(async () => {
    dir = await temporaryDirectory();
    const args = ['pack', '--json', '--silent', '--pack-destination', dir];
    const { stdout } = await execa('npm', args, { cwd: PLUGIN });
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    files = packed.files.map(({ path }) => path).sort();
    await execa('tar', ['-xzf', packed.filename], { cwd: dir });
  });
  after(() => remove(dir));

  test('contains only the bundle, its types and the files that npm requires', () => {
    const dist = [
      'LICENSES.md',
      'alarm-thread.js',
      'alarm.js',
      'index.d.ts',
      'index.js',
      'leash.sh',
      'script.d.ts',
    ];
    assert.deepEqual(files, ['LICENSE', 'README.md', ...dist.map((name) => `dist/${name}`), 'package.json']);
  });

  test('imports only Node and its own files, and contains no path of the repository', () => {
    const dist = join(dir, 'package/dist');
    const names = readdirSync(dist);
    const imports = /^(?:import|export)\b.*?["']([^"']+)["'];?$|\b__require\(["']([^"']+)["']\)/gm;
    let found = 0;
    for (const name of names.filter((one) => one.endsWith('.js'))) {
      const text = readFileSync(join(dist, name), 'utf8');
      assert.ok(!text.includes(ROOT), name);
      for (const [, one, other] of text.matchAll(imports)) {
        const from = (one ?? other) as string;
        assert.ok(isBuiltin(from) || names.includes(from.replace(/^\.\//, '')), `${name}: ${from}`);
        found++;
      }
    }
    assert.ok(found > 10);
  });

  test('depends on the recorder of the same version', () => {
    const { version, optionalDependencies } = manifestAt(join(dir, 'package'));
    assert.deepEqual(new Set(Object.values(optionalDependencies)), new Set([version]));
    assert.ok(PACKAGE !== '@arrival-bench/k6-linux-x64' || PACKAGE in optionalDependencies);
  });

  test('without a recorder it fails with one line before it sends anything', async () => {
    const { exitCode, stderr } = await engine({ PATH: join(dir, 'empty') });
    assert.equal(exitCode, 1);
    assert.match(stderr, /^arrival: no k6 with the arrival extension .*; npm install \S+, or .*xk6 build.*$/);
  });

  test('measures a run in a folder with nothing else', async () => {
    const pipeline = await Pipeline.start();
    try {
      const { exitCode, stderr } = await engine({ ...pipeline.env, ARRIVAL_K6: K6 });
      const [name = ''] = readdirSync(join(dir, 'reports/runs'));
      const run = await readRun(join(dir, 'reports/runs', name), stderr);
      assertPass(run, exitCode);
      assertAllArrived(run);
    } finally {
      await pipeline.stop();
    }
  });

  /** Runs the packed plugin for a second. */
  function engine(env: NodeJS.ProcessEnv) {
    const script = parse(readFileSync(join(ROOT, 'scenarios/ramp.artillery.yml'), 'utf8'));
    script.config.phases = [{ name: 'sustained', duration: 1, arrivalRate: 40 }];
    const given = { path: join(ROOT, 'scenarios/ramp.artillery.yml'), script };
    const { PATH } = process.env;
    return execa(process.execPath, [join(import.meta.dirname, 'engine.ts'), JSON.stringify(given)], {
      cwd: dir,
      env: { PATH, ...env, PLUGIN: join(dir, 'package/dist/index.js') },
      extendEnv: false,
      reject: false,
    });
  }
});

function manifestAt(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
