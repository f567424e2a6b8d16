/** What the page says of a run is true where the pipeline is overloaded or refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missedOf } from '../account.ts';
import { stagesOf } from '../contract/run.ts';
import { flowOf } from '../page/flow.ts';
import { percent, percentileText } from '../page/format.ts';
import { checks } from '../page/health.ts';
import { cells } from '../page/heat.ts';
import { chosenZoom } from '../page/zoom-url.ts';
import { GOLDENS, golden } from './goldens.ts';

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
const inBins = (bins: number[] | undefined) => sum(cells({ bins: bins ?? null }).map(([, count]) => count));

// Regression: the distribution left out what arrived in the drain, so in overload the p99 lay outside of it.
for (const name of GOLDENS) {
  test(`${name}: the distribution and the seconds of due messages have as many deliveries as the table`, () => {
    const { latency, arrival_bins, timeline } = golden(name);
    assert.equal(inBins(arrival_bins), latency.arrival.count);
    if (name !== 'real')
      assert.equal(sum(timeline.map(({ due_bins }) => inBins(due_bins))), latency.arrival.count);
  });
}

test('the distribution of an overloaded run reaches its p99', () => {
  const { latency, arrival_bins = [], timeline } = golden('failing');
  const end = 10 ** (((arrival_bins[0] ?? 0) + arrival_bins.length - 1) / 10) / 1e3;
  assert.ok(end >= (latency.arrival.p99 ?? Number.POSITIVE_INFINITY));
  const arrivedIn = timeline.filter(({ phase }) => phase !== null && phase !== 'warm-up');
  assert.ok(sum(arrivedIn.map(({ arrived }) => arrived)) < latency.arrival.count, 'the drain has the rest');
});

test('a share or percentile that is not all is never 100 %', () => {
  for (const share of [0.9995, 0.99951, 0.99999, 1 - 1e-12]) assert.doesNotMatch(percent(share), /100/);
  assert.equal(percent(1), '100\u00a0%');
  for (const p of [99.9996, 99.99999, 100 - 1e-9]) {
    for (const decimals of [3, 4]) assert.ok(Number(percentileText(p, decimals)) < 100, `${p}`);
  }
  assert.deepEqual(
    [50, 99, 99.9, 99.999, 100 * (1 - 10 ** -3)].map((p) => percentileText(p, 3)),
    ['50', '99', '99.9', '99.999', '99.9'],
  );
});

test('a merged run has the sum of its instances’ limits on counts, in whole ones', () => {
  const run = golden('three');
  const own = run.verdict.rules?.filter(({ name }) => name === 'negative') ?? [];
  assert.equal(own.length, 3);
  const all = sum(own.map(({ limit }) => limit ?? 0));
  const negative = checks(run, true).find(({ what }) => what === 'negative');
  assert.equal(negative?.limit, `${all} deliveries`);
  const [first] = own;
  assert.ok(first);
  Object.assign(first, { limit: (first.limit ?? 0) + 0.75 }); // as an earlier version wrote it
  assert.equal(checks(run, true).find(({ what }) => what === 'negative')?.limit, `${all} deliveries`);
});

test('each loss branches off at its stage, as wide as its number', () => {
  const run = golden('refusing');
  const stages = stagesOf(run);
  const { account } = run;
  const { band, branches } = flowOf(account, stages);
  assert.deepEqual(
    branches.map(({ end, count }) => [end, count]),
    [['rejected', account.rejected]],
  );
  const [branch] = branches;
  const column = stages.findIndex(({ name }) => name === 'request');
  assert.equal(Math.floor((branch?.from ?? 0) * stages.length), column);
  const [before, after] = band.map(({ width }) => width);
  assert.ok(Math.abs((branch?.width ?? 0) / (before ?? 1) - account.rejected / account.scheduled) < 0.01);
  assert.ok(Math.abs((after ?? 0) / (before ?? 1) - account.arrived / account.scheduled) < 0.01);
  const calm = flowOf(golden('passing').account, stages);
  assert.deepEqual([calm.branches.length, calm.band.length], [0, 1]);
});

test('branches follow the way of the message, whatever the stages are called, and share no lane', () => {
  const { account } = golden('passing');
  const each = 1000;
  Object.assign(account, { dropped: each, rejected: each, unknown: each, altered: each, lost: each });
  Object.assign(account, { dead_lettered: each, queued: each, arrived: account.scheduled - 7 * each });
  for (const stages of [
    stagesOf(golden('passing')),
    stagesOf(golden('own-stages')),
    [{ name: 'schedule' }, { name: 'all' }],
  ]) {
    const { branches, height } = flowOf(account, stages);
    assert.deepEqual(
      new Set(branches.map(({ end }) => end)),
      new Set(missedOf(account).map(({ end }) => end)),
    );
    assert.ok(branches.every(({ from, to }, i) => to <= 1.01 && from >= (branches[i - 1]?.from ?? 0)));
    const lanes = branches.map(({ ends }) => ends).sort((a, b) => a - b);
    assert.ok(lanes.every((lane, i) => i === 0 || lane - (lanes[i - 1] ?? 0) >= 20));
    assert.ok((lanes.at(-1) ?? 0) < height);
  }
});

test('the address of a zoomed page has its seconds', () => {
  assert.deepEqual(chosenZoom('#zoom=10-24.5'), { start: 10, end: 24.5 });
  for (const other of ['', '#stages', '#zoom=24-10', '#zoom=a-b', '#zoom=1-2<b>'])
    assert.equal(chosenZoom(other), null);
});
