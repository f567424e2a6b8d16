/**
 * What the documents say on measuring a pipeline without a clone, from a folder with nothing of ours: the image of all commands, the
 * workflow and the CronJob that use it. The npm packages have package.e2e.ts, the Go module alone_test.go.
 */
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { parse } from 'yaml';
import { Images, lastOf, withoutImages } from '../../pipeline/test/images.ts';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import { assertAllArrived, assertPass, Pipeline, ROOT, readRun } from './harness.ts';

const IMAGE = 'localhost/arrival';
const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
/** Whoever types the commands: not root. */
const USER = 4321;
/** A ramp of some seconds, however busy the machine. */
const SHORT = {
  WARMUP_RATE: 10,
  WARMUP_DURATION: 1,
  RAMP_DURATION: 1,
  RATE: 50,
  SUSTAINED_DURATION: 3,
  P99: 60_000,
  NO_COLOR: 1,
};

/**
 * A stand-in of Docker's client for `docker run`: buildah runs the command in a container that all share, a chroot with this host's
 * network. What is set by `-e` comes after SHORT.
 */
const docker = (
  run: readonly string[],
  container: string,
  entrypoint: readonly string[],
  env: object,
) => `#!${process.execPath}
const words = process.argv.slice(3);
const flags = ${JSON.stringify(Object.entries(SHORT).flatMap(([name, value]) => ['--env', `${name}=${value}`]))};
while (words[0]?.startsWith('-')) {
  const flag = words.shift();
  if (flag === '--rm') continue;
  const value = words.shift();
  if (flag === '--network') continue;
  if (flag !== '-e') flags.push(flag, value);
  else if (value.includes('=')) flags.push('--env', value);
  else if (process.env[value]) flags.push('--env', value + '=' + process.env[value]);
}
words.shift();
const inside = [${JSON.stringify(container)}, '--', ...${JSON.stringify(entrypoint)}, ...words];
process.execve('/usr/bin/buildah', ['buildah', ...${JSON.stringify(run)}, ...flags, ...inside], { PATH: process.env.PATH, ...${JSON.stringify(env)} });
`;

describe('the image of all commands', { skip: withoutImages }, () => {
  let dir: string;
  /** The folder where the user is. */
  let here: string;
  let images: Images;
  let pipeline: Pipeline;
  let environment: Record<string, string>;
  /** README's `docker run …` up to the command. */
  let prefix: string;

  before(async () => {
    dir = await temporaryDirectory();
    [here, images] = [join(dir, 'here'), new Images(dir)];
    await images.makeNode();
    await images.build(IMAGE, 'k6.Dockerfile', '--target', 'arrival', ...(await images.makeGo()));
    const { User, Entrypoint } = await images.config(IMAGE);
    assert.equal(User, '65532:65532');
    const bin = join(dir, 'bin');
    await mkdir(bin);
    const container = await images.container(IMAGE);
    const program = async (name: string, text: string) => {
      await writeFile(join(bin, name), text);
      await chmod(join(bin, name), 0o755);
    };
    await program('docker', docker([...images.store, 'run'], container, Entrypoint, images.env));
    await program('id', `#!/bin/sh\necho ${USER}\n`);
    pipeline = await Pipeline.start();
    environment = { PATH: `${bin}:/usr/bin:/bin`, HOME: dir, ...pipeline.own };
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    [prefix = ''] = /docker run --rm --network host.*? arrival(?= ramp)/s.exec(readme) ?? [];
    await emptyFolder();
  });
  after(async () => {
    await pipeline?.stop();
    await remove(dir);
  });

  async function emptyFolder(): Promise<void> {
    await rm(here, { recursive: true, force: true });
    await mkdir(here);
    await chown(here, USER, USER);
  }

  /** Runs a line of a shell as the user. */
  function type(line: string, env: Record<string, string> = {}) {
    return execa('/bin/sh', ['-c', line], {
      cwd: here,
      env: { ...environment, ...env },
      extendEnv: false,
      reject: false,
      all: true,
    });
  }

  const runs = async () => (await readdir(join(here, 'reports/runs'))).sort();
  /** The newest run. */
  async function newest(text: string) {
    const name = (await runs()).at(-1) ?? '';
    return { name, run: await readRun(join(here, 'reports/runs', name), text) };
  }

  test('--help lists the commands', async () => {
    const { exitCode, stdout } = await type('docker run --rm arrival --help');
    assert.equal(exitCode, 0);
    for (const name of ['ramp', 'capacity', 'compare', 'check', 'reports'])
      assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
  });

  test('refusals are one line: nothing is mounted, no pipeline, an unknown setting', async () => {
    const cases: [line: string, says: RegExp][] = [
      [
        'docker run --rm arrival ramp',
        /^arrival: reports cannot be written to \/data; allowed: .* -v "\$PWD:\/data"/,
      ],
      [`INGEST_URL= ${prefix} ramp`, /INGEST_URL is not set, .*; allowed: INGEST_URL of your own pipeline/],
      [`${prefix} ramp -e RTAE=5`, /RTAE is not a setting of .*RATE/],
    ];
    for (const [line, says] of cases) {
      const { exitCode, stdout, stderr } = await type(line);
      assert.match(stderr, says);
      // Below it buildah's own, that the command ended so.
      const [, ...more] = stderr
        .split('\n')
        .filter((one) => !/^(subprocess exited|Error: exit status)/.test(one));
      assert.deepEqual([exitCode, stdout, more], [1, '', []], line);
    }
  });

  test('a ramp, its gate and a comparison: reports lie in the folder, exit codes are kept', async () => {
    const first = await type(`${prefix} ramp`);
    const one = await newest(first.all);
    assertPass(one.run, first.exitCode);
    assertAllArrived(one.run);
    assert.equal(
      first.stdout.trimEnd().split('\n').at(-1)?.trim().split(/\s+/).at(-1),
      `reports/runs/${one.name}/index.html`,
    );
    const page = await stat(join(here, `reports/runs/${one.name}/index.html`));
    assert.deepEqual([page.uid, page.gid], [USER, USER]);

    const second = await type(`${prefix} ramp -e P99=0.001`);
    assert.equal(second.exitCode, 99, second.all);
    const two = await newest(second.all);
    const same = `compare ${one.name} reports/runs/${two.name} --allow-failed`;
    const cases: [words: string, code: number][] = [
      [`check ${one.name} --threshold 'account.lost == 0' --threshold 'account.arrived < 1'`, 99],
      [`${same} --fail-if 'account.lost > 0'`, 0],
      [`${same} --fail-if 'account.arrived > 0'`, 1],
      ['list', 0],
    ];
    for (const [words, code] of cases) {
      const { exitCode, all } = await type(`${prefix} ${words}`);
      assert.equal(exitCode, code, `${words}\n${all}`);
    }
    assert.equal((await readdir(join(here, 'reports/comparisons'))).length, 2);
  });

  test('Ctrl-C ends a run, which leaves its report', async () => {
    await emptyFolder();
    const child = type(`exec ${prefix} ramp -e SUSTAINED_DURATION=600`);
    const begun = async () => {
      const [name = ''] = await runs().catch(() => []);
      const lines = await readFile(join(here, 'reports/runs', name, 'timeline.ndjson'), 'utf8').catch(
        () => '',
      );
      return lines.split('\n').length > 3;
    };
    await eventually(begun, 'the load');
    // buildah forwards no signal. The process is the container's first one.
    process.kill(
      await lastOf(child.pid as number, (command) => /^\S*node \/arrival/.test(command)),
      'SIGINT',
    );
    const { exitCode, all } = await child;
    const { run } = await newest(all);
    assert.ok(exitCode !== 0 && exitCode !== undefined, all);
    assert.equal(run.verdict.result, 'incomplete', all);
  });

  test('reports shows the runs in a browser until it is stopped', async () => {
    const child = type(`exec ${prefix} reports --port 0`);
    let printed = '';
    child.stdout.on('data', (text) => {
      printed += text;
    });
    await eventually(() => printed.includes('\n'), 'its address');
    const answer = await fetch(`${printed.trim()}/api/runs`);
    const [name = ''] = await runs();
    assert.match(await answer.text(), new RegExp(name));
    process.kill(
      await lastOf(child.pid as number, (command) => /^\S*node \/arrival/.test(command)),
      'SIGTERM',
    );
    assert.equal((await child).exitCode, 0);
  });

  test('the steps of the GitHub workflow measure, judge and show the run', async () => {
    await emptyFolder();
    const workflow = parse(await readFile(join(ROOT, 'pipeline/deploy/actions.yml'), 'utf8'));
    const steps = (workflow.jobs.arrival.steps as { run?: string }[]).flatMap(({ run = '' }) =>
      /^docker run|^cat/.test(run) ? run : [],
    );
    assert.equal(steps.length, 3);
    const summary = join(dir, 'summary.md');
    const lint = ['run', ACTIONLINT, 'pipeline/deploy/actions.yml'];
    await execa('go', lint, { cwd: ROOT });
    for (const step of steps) {
      const { exitCode, all } = await type(step, { LABELS: 'build=17', GITHUB_STEP_SUMMARY: summary });
      // A busy machine makes the run invalid, and crosses a limit in ms.
      assert.ok([0, 2, 99].includes(exitCode ?? -1), all);
    }
    const { run } = await newest('');
    assertAllArrived(run);
    assert.equal(run.run.labels.build, '17');
    assert.match(await readFile(summary, 'utf8'), /arrival/);
  });

  test("the CronJob's container measures a pipeline that its Secret names, and nothing of ours", async () => {
    await emptyFolder();
    const text = await readFile(join(ROOT, 'pipeline/deploy/kubernetes/own/own.yaml'), 'utf8');
    const { containers, volumes } = parse(text).spec.jobTemplate.spec.template.spec;
    const [{ args, env, volumeMounts }] = containers;
    assert.deepEqual(
      volumes.map((one: object) => Object.keys(one)[1]),
      ['persistentVolumeClaim', 'emptyDir'],
    );
    const [{ mountPath }] = volumeMounts;
    const words = [...env.map(({ name, value }: { name: string; value: string }) => `-e ${name}=${value}`)];
    const secret = Object.keys(pipeline.own).map((name) => `-e ${name}`);
    await mkdir(join(here, 'reports/runs'), { recursive: true });
    await chown(join(here, 'reports/runs'), 65532, 65532);
    const mount = `--user 65532:65532 -v "$PWD/reports/runs:${mountPath}"`;
    const { exitCode, all } = await type(
      `docker run ${mount} ${[...words, ...secret].join(' ')} arrival ${args.join(' ')}`,
    );
    const { run } = await newest(all);
    assertPass(run, exitCode);
    assertAllArrived(run);
    assert.equal(run.run.network, 'cluster');
  });
});
