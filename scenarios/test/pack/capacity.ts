import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from '../../../pipeline/test/services.ts';
import { shownRun } from '../../../reports/render.ts';
import { assertAllArrived, node, type Pipeline, ROOT, readRun } from '../harness.ts';

/** Needs a pipeline without other load. */
export function capacity(pipeline: Pipeline): void {
  test('capacity: tries and confirms a rate, writes a report and ends', async (t) => {
    const settings = [
      'P99=60000',
      'LOWEST=50',
      'HIGHEST=50',
      'PROBE=1',
      'CONFIRM=1',
      'WARMUP=0.1',
      'MINUTES=10',
    ];
    const args = settings.flatMap((setting) => ['-e', setting]);
    const outs = await temporaryDirectory();
    t.after(() => remove(outs));
    const { exitCode, stdout, all } = await node(['scenarios/campaigns/capacity/main.ts', ...args], {
      ...pipeline.env,
      K6_OUT: `json=${outs}/points.json`,
    });
    const tried = [
      ...stdout.matchAll(
        /^ +50 requests\/s {2}1 s .* (held|(?:not held|undecided): .*?)( · about .+ left)?$/gm,
      ),
    ].map(([, what]) => what);
    assert.match(stdout, /^search {2}about [\d.]+ (s|min), at most 10 min \(MINUTES\)$/m);
    assert.ok(tried.length >= 2, all);
    // Regression: each run replaced the output of the one before.
    const files = tried.map((_, i) => `points-run-${i + 1}.json`);
    assert.deepEqual((await readdir(outs)).sort(), files.sort());
    // On a busy machine the rate may not hold; then the answer says so.
    const held = tried.at(-1) === 'held';
    assert.equal(exitCode, held ? 0 : 99, all);
    assert.match(
      stdout,
      held
        ? /^capacity {2}50 requests\/s with p99 below 60000 ms: held in \d of \d runs(, \d undecided)?, the last of 1 s\n +no higher rate was tried: HIGHEST ends/m
        : /^capacity {2}none was confirmed: p99 below 60000 ms held at no rate that was tried for 1 s$/m,
    );
    const page = stdout.match(/^report {2}(\S+)$/m)?.[1];
    assert.equal(page !== undefined, tried.includes('held'), all);
    if (page === undefined) return;
    const dir = dirname(join(ROOT, page));
    try {
      const { rate, probes } = JSON.parse(await readFile(join(dir, 'capacity.json'), 'utf8'));
      assert.equal(rate, held ? 50 : null);
      assert.deepEqual(
        probes.map((probe: { rate: number; outcome: string }) => [probe.rate, probe.outcome]),
        tried.map((what) => [50, what?.split(':')[0]]),
      );
      const run = await readRun(dir);
      assert.equal(run.run.method, 'capacity');
      if (held) assertAllArrived(run);
      const reported = held
        ? [
            { name: 'highest rate that held', value: 50, unit: 'requests/s' },
            {
              name: 'runs at 50 requests/s that held',
              value: tried.filter((what) => what === 'held').length,
              unit: `of ${tried.length}`,
            },
          ]
        : [
            { name: 'highest rate that held', value: null, unit: 'requests/s' },
            { name: 'lowest rate that did not', value: 50, unit: 'requests/s' },
          ];
      assert.deepEqual(
        run.figures?.slice(1, 3).map((figure) => ({ ...figure, unit: figure.unit.replace(/, .*/, '') })),
        reported,
      );
      assert.deepEqual(shownRun(await readFile(join(dir, 'index.html'), 'utf8')).figures, run.figures);
      assert.match(await readFile(join(dir, 'summary.md'), 'utf8'), /^capacity {2}/m);
    } finally {
      await remove(dir);
    }
  });
}
