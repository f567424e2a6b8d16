import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { remove } from '../../pipeline/test/services.ts';
import { golden } from '../../reports/test/goldens.ts';
import { table } from '../campaigns/workers.ts';
import { main } from '../run/run.ts';
import { measureSeries, repeats, type Series } from '../run/series.ts';
import { assertPass, assertRefused, node, place, ROOT, readRun, terminal } from './harness.ts';

/** The runs whose reports a command printed. The test removes all printed paths. */
async function printedRuns(t: TestContext, stdout: string) {
  const paths = (what: string) =>
    [...stdout.matchAll(new RegExp(`^ *${what} +(\\S+)$`, 'gm'))].map(([, page]) => join(ROOT, String(page)));
  const [reports, pages] = [paths('report'), paths('comparison')];
  for (const page of [...reports, ...pages]) t.after(() => remove(dirname(page)));
  assert.deepEqual(pages.map(existsSync), [true], stdout);
  return Promise.all(reports.map((page) => readRun(dirname(page))));
}

test('--repeat runs a scenario that often and prints the spread of its figures', async (t) => {
  const { env } = await place(t);
  const settings = ['CONCURRENCY=1,2', 'STEP_DURATION=0.5', 'P99=60000'].flatMap((one) => ['-e', one]);
  const args = ['scenarios/run/run.ts', 'scenarios/sweep.js', '-q', '--repeat', '2', ...settings];
  const { stdout, all, exitCode } = await node(args, env);
  const runs = await printedRuns(t, stdout);
  assert.equal(runs.length, 2, all);
  for (const run of runs) {
    assertPass(run, run.verdict.result === 'pass' ? 0 : 99);
    assert.match(
      stdout,
      /^ +figure +highest rate of a step below it: [\d.,]+ messages\/s$/m,
      'each run prints its rate',
    );
  }
  assert.match(stdout, /^ +run 1 +run 2 +mean of [0-2]$/m);
  assert.match(stdout, /^highest rate of a step below it, messages\/s +[\d.,]+ +[\d.,]+ +([\d.]+|n\/a)/m);
  assert.equal(exitCode, runs.every(({ verdict }) => verdict.result === 'pass') ? 0 : 99, all);
});

test('an invalid --repeat fails with one line', async (t) => {
  const { runDir, env } = await place(t);
  const wrong = [
    [['--repeat', '0'], /^--repeat is "0"; allowed: 1 to 20$/],
    [['--repeat'], /^--repeat is ""; allowed: 1 to 20$/],
    [
      ['--repeat=2', '-e', `RUN_DIR=${runDir}`],
      /^RUN_DIR is one directory, and each run has one of its own: leave it out$/,
    ],
  ] as const;
  for (const [args, message] of wrong) {
    await assertRefused(main, ['scenarios/smoke.js', ...args], env, message);
  }
});

/** A series of variants by name, which are measured by `measure`. */
function seriesOf(
  names: string[],
  measure: (name: string) => Promise<{ dir: string; name: string } | string>,
): Series<string, { dir: string; name: string }> {
  return {
    name: 'test',
    variants: names,
    measure,
    passed: ({ name }) => name !== 'failing',
    table: (all) => all.map(({ name }) => name).join(' '),
    write: (folder) => remove(folder),
  };
}

test('a series prints its table, and why a variant is not in it', async () => {
  for (const [names, printed, code] of [
    [['one'], '\none\n\n', 0],
    [['failing'], '\nfailing\n\n', 99],
    [['one', 'refused'], '\none\n\nrefused: no rights\n\n', 99],
  ] as const) {
    const { io, printed: out } = terminal();
    const measured: string[] = [];
    const series = seriesOf([...names], async (name) => {
      measured.push(name);
      return name === 'refused' ? 'refused: no rights' : { dir: `/nowhere/${name}`, name };
    });
    assert.equal(await measureSeries(series, io), code);
    assert.deepEqual([measured, out.stdout], [names, printed]);
  }
});

test('Ctrl-C ends a series: no further variant is measured, and nothing is compared', async () => {
  const { io, printed, interrupt } = terminal();
  const measured: string[] = [];
  const series = seriesOf(['one', 'two', 'three'], async (name) => {
    measured.push(name);
    if (name === 'two') interrupt('SIGINT');
    return { dir: `/nowhere/${name}`, name };
  });
  assert.equal(await measureSeries(series, io), 130);
  assert.deepEqual(measured, ['one', 'two']);
  assert.deepEqual(printed, { stdout: '', stderr: 'stopping; Ctrl-C again stops at once\n' });
});

test('mean and spread leave out invalid runs', () => {
  const runs = [golden('closed'), golden('closed'), golden('closed')];
  runs.forEach((run, i) => {
    run.knee = { vus: 4 + 13 * i, next: 40, stage: 'queue' };
    run.verdict.result = i === 2 ? 'invalid' : 'pass';
  });
  const text = repeats(runs);
  assert.match(text, /^ +run 1 +run 2 +run 3 +mean of 2$/m);
  assert.match(text, /^verdict +pass +pass +invalid$/m);
  assert.match(text, /^knee, VUs +4 +17 +30 +10\.5 ± 9\.2$/m);
});

test('a repeat says which of its figures are in doubt, and that a limit is undecided', () => {
  const late = golden('closed');
  late.verdict.result = 'invalid';
  late.facts.doubts = [{ claim: 'arrival', direction: 'too_high', by: ['cpu'], text: 'it was out of CPU' }];
  const text = repeats([golden('closed'), late]);
  assert.match(text, /^verdict +pass +undecided$/m);
  assert.match(text, /^arrival p99, ms +[\d.]+ +≤ [\d.]+ /m);
  assert.match(text, /^HTTP p99, ms +[\d.]+ +[\d.]+ /m);
  assert.match(text, /^\(.*; ≤ at most\)$/m, 'only the signs in use are explained');
  assert.doesNotMatch(repeats([golden('closed')]), /≤|≥|≈/);
});

// Regression: the claim was read from the label.
test('a figure of a script is not in doubt, whatever its name', () => {
  const run = golden('closed');
  run.facts.doubts = [{ claim: 'http', direction: 'either', by: ['cpu'], text: 'it was out of CPU' }];
  run.figures = [{ name: 'HTTP errors', value: 3, unit: 'requests' }];
  const text = repeats([run]);
  assert.match(text, /^HTTP errors, requests +3 /m);
  assert.match(text, /^HTTP p99, ms +≈ [\d.]+ /m);
});

test('workers sweeps each number of relays in each mode and prints a row for each', async (t) => {
  const { env } = await place(t);
  const settings = ['RELAYS=2', 'CONCURRENCY=1,2', 'STEP_DURATION=0.5'].flatMap((one) => ['-e', one]);
  const { stdout, all, exitCode } = await node(['scenarios/campaigns/workers.ts', ...settings], env);
  const runs = await printedRuns(t, stdout);
  assert.deepEqual(
    runs.map(({ run, environment: { pipeline } }) => [run.labels, pipeline?.relay_workers]),
    [
      [{ relays: '2', mode: 'pipelined' }, 2],
      [{ relays: '2', mode: 'serial' }, 2],
    ],
    all,
  );
  assert.match(stdout, /^relays +mode +messages\/s +VUs .* verdict$/m);
  for (const mode of ['pipelined', 'serial'])
    assert.match(stdout, new RegExp(`^2 +${mode} +[\\d.,]+ +[12] .*(pass|invalid)$`, 'm'));
  assert.equal(exitCode, runs.every(({ verdict }) => verdict.result === 'pass') ? 0 : 99, all);
});

test('the row of a sweep shows the step with the highest throughput', () => {
  const run = golden('closed');
  const [row = ''] = table([{ name: '4 serial', dir: '', run }], 2)
    .split('\n')
    .slice(1);
  assert.match(row, /^4 +serial +[\d.,]+ +\d+ /);
  run.account.balanced = false;
  assert.match(table([{ name: '4 serial', dir: '', run }], 2), /^4 +serial +– +– /m);
});
