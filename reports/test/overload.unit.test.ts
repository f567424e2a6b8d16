/** What the page says of a run is true where the pipeline is overloaded or refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Loss } from '../contract/run.ts';
import { percent, percentileText } from '../format.ts';
import { flowOf } from '../page/flow.ts';
import { cells } from '../page/heat.ts';
import { chosenZoom } from '../page/window.ts';
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

test('each loss branches off at its stage, as wide as its number', () => {
  const { account, facts } = golden('refusing');
  const { stages } = facts.journey;
  const { band, branches } = flowOf(account, facts);
  assert.deepEqual(
    branches.map(({ loss }) => [loss.end, loss.count]),
    [['rejected', account.rejected]],
  );
  const [branch] = branches;
  const column = stages.findIndex(({ name }) => name === 'request');
  assert.equal(Math.floor((branch?.from ?? 0) * stages.length), column);
  const [before, after] = band.map(({ width }) => width);
  assert.ok(Math.abs((branch?.width ?? 0) / (before ?? 1) - account.rejected / account.scheduled) < 0.01);
  assert.ok(Math.abs((after ?? 0) / (before ?? 1) - account.arrived / account.scheduled) < 0.01);
  const passing = golden('passing');
  const calm = flowOf(passing.account, passing.facts);
  assert.deepEqual([calm.branches.length, calm.band.length], [0, 1]);
});

test('branches follow the way of the message and share no lane', () => {
  for (const name of ['passing', 'own-stages', 'without-stages'] as const) {
    const { account, facts } = golden(name);
    const names = facts.journey.stages.map((stage) => stage.name);
    const losses = ['dropped', 'rejected', 'unknown', 'altered'].map(
      (end, i): Loss => ({
        end,
        count: 100,
        share: 0.01,
        stage: names[Math.min(i, names.length - 1)] ?? null,
      }),
    );
    const { branches, height } = flowOf(account, { ...facts, losses });
    assert.equal(branches.length, losses.length);
    assert.ok(branches.every(({ from, to }, i) => to <= 1.01 && from >= (branches[i - 1]?.from ?? 0)));
    const lanes = branches.map(({ ends }) => ends).sort((a, b) => a - b);
    assert.ok(lanes.every((lane, i) => i === 0 || lane - (lanes[i - 1] ?? 0) >= 20));
    assert.ok((lanes.at(-1) ?? 0) < height);
  }
});

test('a loss of an unknown place leaves the way at no stage', () => {
  const { account, facts } = golden('failing');
  const { band, branches, apart, height } = flowOf(account, facts);
  assert.deepEqual([branches.length, band.length], [0, 1]);
  assert.deepEqual(
    apart.map(({ loss }) => [loss.end, loss.count]),
    [['lost', account.lost]],
  );
  assert.ok(apart.every(({ top, text }) => top >= (band[0]?.width ?? 0) && text < height));
});

test('the address of a zoomed page has its seconds', () => {
  assert.deepEqual(chosenZoom('#zoom=10-24.5'), { start: 10, end: 24.5 });
  for (const other of ['', '#stages', '#zoom=24-10', '#zoom=a-b', '#zoom=1-2<b>'])
    assert.equal(chosenZoom(other), null);
});
