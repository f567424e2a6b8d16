import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { remove } from '../../pipeline/test/services.ts';
import { golden } from '../../reports/test/goldens.ts';
import { main, table } from '../campaigns/deployments.ts';
import { assertPass, assertRefused, lacks, node, place, ROOT, readRun } from './harness.ts';

test('each deployment is measured, and a page compares them', async (t) => {
  const { env } = await place(t);
  const refusal = lacks('network namespaces');
  const args = ['scenarios/campaigns/deployments.ts', '-e', 'CONCURRENCY=2', '-e', 'REQUESTS=20'];
  const { all, stdout, exitCode } = await node(args, env);
  const printed = (what: string) =>
    [...stdout.matchAll(new RegExp(`^ *${what} +(\\S+)$`, 'gm'))].map(([, page]) => join(ROOT, String(page)));
  const [reports, pages] = [printed('report'), printed('comparison')];
  for (const page of [...reports, ...pages]) t.after(() => remove(dirname(page)));
  // Without namespaces the command prints the reason.
  assert.equal(/^namespace {3}not measured: .+$/m.test(stdout), refusal !== null, all);
  const cells = ['single loopback', 'cluster loopback', 'single namespace'].slice(0, refusal ? 2 : 3);
  const runs = await Promise.all(reports.map((page) => readRun(dirname(page))));
  assert.deepEqual(
    runs.map(({ run }) => `${run.topology} ${run.network}`),
    cells,
    all,
  );
  for (const run of runs) {
    assert.equal(run.account.arrived, 20);
    assertPass(run, run.verdict.result === 'pass' ? 0 : 99);
  }
  assert.match(stdout, refusal ? /^ +bare +nginx$/m : /^ +bare +nginx +namespace$/m);
  assert.deepEqual(pages.map(existsSync), [true], all);
  const passed = runs.every(({ verdict }) => verdict.result === 'pass');
  assert.equal(exitCode, passed && refusal === null ? 0 : 99, all);
});

test('the table shows average, max and min of the deployments side by side', () => {
  const bare = golden('closed');
  const nginx = golden('closed');
  for (const step of nginx.steps) Object.assign(step.latency.http, { mean: 1200, max: 3400, min: 0.5 });
  const [heads, columns, first] = table([
    { name: 'bare', dir: '', run: bare },
    { name: 'nginx', dir: '', run: nginx },
  ]).split('\n');
  assert.match(String(heads), /^ +bare +nginx$/);
  assert.match(String(columns), /^concurrent +average +max +min +average +max +min$/);
  assert.match(String(first), /^warm-up +[\d.]+ +[\d.]+ +[\d.]+ +1,200 +3,400 +0\.500$/);
  nginx.account.balanced = false;
  assert.match(table([{ name: 'nginx', dir: '', run: nginx }]), /^warm-up +– +– +–$/m);
});

test('an invalid flag or setting fails with one line before anything starts', async () => {
  const wrong = [
    [['--vus', '3'], {}, /^--vus is not known; allowed: -e NAME=value, --help$/],
    [
      [],
      { INGEST_URL: 'http://127.0.0.1:1' },
      /^INGEST_URL is set, and deployments starts each pipeline by itself: leave it out$/,
    ],
    [['-e', 'SEDE=7'], {}, /^SEDE is not a setting of npm run deployments, SEED is; allowed: .+$/],
    [['-e', 'RATE=5'], {}, /^RATE is not a setting of npm run deployments; allowed: .+$/],
    [['-e', 'RUN_DIR=/tmp/x'], {}, /^RUN_DIR is not a setting of npm run deployments; allowed: .+$/],
    [['-e', 'CONCURRENCY=9..1'], {}, /^CONCURRENCY is "9\.\.1": 9 is above 1; allowed: .+$/],
  ] as const;
  await Promise.all(
    wrong.map(async ([args, env, message]) => {
      await assertRefused(main, args, env, message);
    }),
  );
});
