import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { FEW_COLLECTIONS } from '../../pipeline/stack/k6.ts';
import { eventually, remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Run } from '../../reports/contract/run.ts';
import { Catalogue } from '../../reports/history/catalogue.ts';
import { shownRun } from '../../reports/render.ts';
import { newRunId, segmentsOf } from '../run/instances.ts';
import { main } from '../run/run.ts';
import { assertPass, assertRefused, k6, node, Pipeline, place, ROOT, readRun } from './harness.ts';

const QUIET = ['run', '-q', '--log-format', 'raw', '--address', ''];

/** The account without the figures that depend on the machine. */
function stableAccount({ account }: Run) {
  const { reordered: _, negative: __, duplicates: ___, ...rest } = account;
  return rest;
}

/** A generator's latency samples, ms, from the file of --out json. */
async function pointsIn(file: string, generator: string): Promise<number[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return lines.flatMap((line) => {
    const { type, metric, data } = JSON.parse(line);
    if (type !== 'Point' || metric !== 'arrival_latency') return [];
    assert.equal(data.tags.generator, generator);
    return [data.value];
  });
}

describe('instances with execution segments', () => {
  let pipeline: Pipeline;
  let dir: string;
  before(async () => {
    [pipeline, dir] = await Promise.all([Pipeline.start(), temporaryDirectory()]);
  });
  after(async () => {
    await pipeline.stop();
    await remove(dir);
  });

  /** Starts an instance for each set of flags. */
  const start = (name: string, settings: string[], flags: string[][]) => {
    const env = { ...pipeline.env, RUN_DIR: join(dir, name), RUN_ID: newRunId(), ...FEW_COLLECTIONS };
    const load = settings.flatMap((setting) => ['-e', setting]);
    return flags.map((own) => k6([...QUIET, ...load, ...own, 'scenarios/smoke.js'], env));
  };
  const merge = (name: string) => node(['reports/main.ts', 'merge', join(dir, name)], pipeline.env);

  test('send and, merged, report the same as a single instance', async () => {
    const load = ['DURATION=2', 'RATE=100'];
    const outs = [1, 2, 3].map((n) => join(dir, `points-${n}.json`));
    const flags = segmentsOf(3).map((segment, i) => [...segment, '--out', `json=${outs[i]}`]);
    const [alone, ...three] = await Promise.all([
      ...start('one', load, [[]]),
      ...start('three', load, flags),
    ]);
    const { exitCode, all } = await merge('three');
    const [one, whole] = await Promise.all([readRun(join(dir, 'one')), readRun(join(dir, 'three'))]).catch(
      (error) => assert.fail(`${error}\n${alone?.all}\n${three.map((one) => one.all).join('\n')}\n${all}`),
    );
    assert.deepEqual(stableAccount(whole), stableAccount(one));
    assert.match(
      await readFile(join(dir, 'three/junit.xml'), 'utf8'),
      /<testcase [^>]*generator 3: lateness/,
    );
    assert.match(await readFile(join(dir, 'three/summary.md'), 'utf8'), /: three$/m);
    assert.equal(
      (await readFile(join(dir, 'three/timeline.ndjson'), 'utf8')).trim().split('\n').length,
      whole.timeline.length,
    );
    assert.equal(one.account.requests.sent, 200);
    assert.deepEqual(
      whole.flows.map(({ name, scheduled, arrived }) => [name, scheduled, arrived]),
      one.flows.map(({ name, scheduled, arrived }) => [name, scheduled, arrived]),
    );
    assertPass({ ...whole, verdict: withoutNames(whole) }, whole.verdict.result === 'pass' ? 0 : 99);
    assert.equal(exitCode, whole.verdict.result === 'pass' ? 0 : 1);

    // The merged histogram has the percentiles of all samples.
    const union = (await Promise.all(outs.map((file, i) => pointsIn(file, `${i + 1}`))))
      .flat()
      .sort((a, b) => a - b);
    assert.equal(whole.latency.arrival.count, union.length);
    for (const [key, p] of [
      ['p50', 50],
      ['p90', 90],
      ['p99', 99],
    ] as const) {
      const expected = union[Math.round((p / 100) * union.length) - 1] as number;
      const off = Math.abs((whole.latency.arrival[key] as number) - expected);
      assert.ok(
        off <= 0.001 + expected / 1000,
        `${key}: ${whole.latency.arrival[key]}, of all samples ${expected}`,
      );
    }
    const sum = (of: (second: Run['timeline'][0]) => number) =>
      whole.timeline.reduce((n, second) => n + of(second), 0);
    assert.equal(
      sum(({ sent }) => sent),
      whole.account.scheduled,
    );
    assert.equal(
      sum(({ arrived }) => arrived),
      whole.account.deliveries.arrived,
    );
    assert.ok(whole.timeline.every(({ arrival }) => arrival === null || arrival.p99 !== null));
    assert.deepEqual(
      shownRun(await readFile(join(dir, 'three/index.html'), 'utf8')).generators?.map(
        ({ segment }) => segment,
      ),
      ['0:1/3', '1/3:2/3', '2/3:1'],
    );
    const names = whole.resources.map(({ process }) => process);
    for (const n of [1, 2, 3]) assert.ok(names.includes(`k6-${n}`), names.join());
  });

  // The pods of an Indexed Job do the same, with an image that has no shell.
  test('find their part in the environment, and the last one to end merges the reports', async () => {
    const run = join(dir, 'job');
    const env = { ...pipeline.env, RUN_DIR: run, RUN_ID: newRunId(), INSTANCES: '3', ...FEW_COLLECTIONS };
    const load = ['-e', 'DURATION=2', '-e', 'RATE=50', 'scenarios/smoke.js'];
    const ended = await Promise.all(
      [0, 1, 2].map((index) => k6([...QUIET, ...load], { ...env, JOB_COMPLETION_INDEX: `${index}` })),
    );
    const output = ended.map(({ all }) => all).join('\n');
    const whole = await readRun(run, output);
    assert.deepEqual(
      whole.generators?.map(({ number, segment }) => [number, segment]),
      [
        [1, '0:1/3'],
        [2, '1/3:2/3'],
        [3, '2/3:1'],
      ],
    );
    assert.equal(whole.account.requests.sent, 100);
    const failed = ended.filter(({ exitCode }) => exitCode !== 0).length;
    if (whole.verdict.result === 'pass') assert.equal(failed, 0, output);
    else assert.ok(failed > 0, output);
    assert.deepEqual(
      (await readdir(run, { recursive: true })).filter((name) => /ended|merging/.test(name)),
      [],
    );
  });

  describe('concurrently', { concurrency: true }, () => {
    test('a killed instance makes the merged run incomplete; the catalogue lists live ones', async () => {
      const load = ['DURATION=15', 'RATE=60'];
      const running = start('killed', load, segmentsOf(3));
      const place = (n: number) => join(dir, 'killed', `generator-${n}`);
      const catalogue = new Catalogue(dir);
      const listed = async () =>
        (await catalogue.list()).entries
          .filter(({ directory }) => directory.startsWith('killed'))
          .map(({ directory, live }) => `${directory}${live ? ' live' : ''}`)
          .sort();
      const three = [1, 2, 3].map((n) => `killed/generator-${n} live`);
      const knows = async () => {
        const part = await readRun(place(2)).catch(() => null);
        return (part?.timeline.length ?? 0) > 0 && isDeepStrictEqual(await listed(), three);
      };
      await eventually(knows, 'three live instances in the list, and a report of the second one', 60_000);
      running[1]?.kill('SIGKILL');
      await Promise.all(running);
      const { exitCode, all } = await merge('killed');
      const parts = await Promise.all([1, 2, 3].map((n) => readRun(place(n))));
      const whole = await readRun(join(dir, 'killed'));
      assert.equal(whole.verdict.result, 'incomplete');
      assert.match(
        String(whole.verdict.reasons[0]),
        /^generator 2 of 3 \(1\/3:2\/3\) was cut off: its account ends after \d+ s, with [\d,]+ messages$/,
      );
      assert.equal(exitCode, 1);
      assert.match(String(all), /INCOMPLETE {2}killed\n/);
      assert.equal(whole.run.ended, null);
      for (const i of [0, 2]) {
        assert.equal(parts[i]?.account.requests.sent, 300);
        assert.equal(parts[i]?.account.arrived, parts[i]?.account.scheduled);
      }
      const scheduled = parts.reduce((sum, { account }) => sum + account.scheduled, 0);
      assert.equal(whole.account.scheduled, scheduled);
      assert.deepEqual(
        whole.generators?.map(({ number, result }) => [number, result === 'incomplete']),
        [
          [1, false],
          [2, true],
          [3, false],
        ],
      );
      assert.match((await listed()).join(), /^killed( live)?$/, 'the merged run replaces its parts');
      await remove(place(3));
      assert.match(
        String((await merge('killed')).all),
        /generator 3 of 3 \(2\/3:1\) is missing, and what it sent is not in the account/,
      );
    });

    test('--instances starts and merges a sweep whose steps begin together', async () => {
      const profile = join(dir, 'sweep.yml');
      const steps =
        '{name: "1", vus: 1, requests: 20, duration: 60, drain: 60}, {name: "4", vus: 4, requests: 56, duration: 60}';
      await writeFile(profile, `{phases: [${steps}], flows: [{name: direct}]}`);
      const { exitCode, stdout, all } = await node(
        ['scenarios/run/run.ts', 'scenarios/sweep.js', '--instances', '2', '-e', `PROFILE=${profile}`],
        pipeline.env,
      );
      const page = stdout.match(/^ +report +(\S+)$/m)?.[1];
      assert.ok(page, all);
      const at = dirname(join(ROOT, page));
      const [whole, ...parts] = await Promise.all(
        ['.', 'generator-1', 'generator-2'].map((part) => readRun(join(at, part))),
      );
      await remove(at);
      const stepsOf = (run?: Run) => run?.steps.map(({ vus, requests }) => [vus, requests]);
      assert.deepEqual(stepsOf(whole), [
        [1, 20],
        [4, 56],
      ]);
      assert.deepEqual(parts.map(stepsOf), [
        [
          [1, 20],
          [2, 28],
        ],
        [
          [0, 0],
          [2, 28],
        ],
      ]);
      assert.match(stdout, /account +76 scheduled = 0 dropped \+ 0 rejected \+ 0 unknown \+ 76 arrived/, all);
      assert.match(stdout, /generator 1 +0:1\/2 · /);
      assert.equal(exitCode === 0, /^ {2}PASS /m.test(stdout), all);
    });

    // Regression: the run was incomplete, its code 105, and k6's line was dropped; the other instance went on.
    test('a limit with abortOnFail in one instance ends the others, and fails the run', async () => {
      const script = join(dir, 'aborted.js');
      const smoke = await readFile(join(ROOT, 'scenarios/smoke.js'), 'utf8');
      const limit = "'arrival_latency{generator:2}': [{ threshold: 'max<0', abortOnFail: true }]";
      const text = smoke
        .replace("http_req_failed: ['rate==0']", limit)
        .replaceAll("'./", `'${ROOT}/scenarios/`);
      await writeFile(script, text);
      const runDir = join(dir, 'aborted');
      const load = ['--instances', '3', '-e', 'DURATION=120', '-e', 'RATE=30'];
      const { exitCode, all, stderr } = await node(['scenarios/run/run.ts', script, ...load], {
        ...pipeline.env,
        RUN_DIR: runDir,
      });
      const whole = await readRun(runDir, all);
      assert.equal(whole.run.ended, null);
      assert.equal(whole.verdict.result, 'fail', all);
      assert.match(whole.verdict.reasons.join('\n'), /^generator 2: .*limit < 0 ms \(abortOnFail\)/m);
      assert.match(stderr, /^thresholds on metrics .*abortOnFail enabled/m);
      assert.equal(exitCode, 99);
    });
  });
});

test('a load that cannot be divided fails with one line before anything starts', async (t) => {
  const { env } = await place(t);
  const wrong: [script: string, args: string[], message: RegExp][] = [
    ['smoke', ['--instances', 'many'], /^--instances is "many"; allowed: 1 to 32$/],
    [
      'sweep',
      ['--instances', '2', '-e', 'CONCURRENCY=1'],
      /^generator 2 of 2 would have none of 1 VUs: fewer instances/,
    ],
    [
      'smoke',
      ['--instances', '3', '-e', 'RATE=1', '-e', 'DURATION=2'],
      /^generator 3 of 3 would send none of 2 requests: fewer instances/,
    ],
  ];
  await Promise.all(
    wrong.map(async ([script, args, message]) => {
      await assertRefused(main, [`scenarios/${script}.js`, ...args], env, message);
    }),
  );
});

/** The verdict with each reason once, without the generator's number. */
function withoutNames({ verdict }: Run): Run['verdict'] {
  const reasons = verdict.reasons.map((reason) => reason.replace(/^generator \d: /, ''));
  return { ...verdict, reasons: [...new Set(reasons)] };
}
