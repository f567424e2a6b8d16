import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mulberry32, normal } from '../../test/samples.ts';
import { lastChangePoint } from '../change-point.ts';
import type { Point } from '../entry.ts';
import { namesOf, topOf } from '../page/axis.ts';
import { alarms, found, HISTORIES } from './coverage.ts';

/** p99 of runs with these levels, in order; one in twenty is an outlier. */
function series(random: () => number, ...levels: [runs: number, ms: number][]): number[] {
  return levels.flatMap(([runs, ms]) =>
    Array.from({ length: runs }, () => ms * Math.exp(0.1 * normal(random)) * (random() < 0.05 ? 5 : 1)),
  );
}

test('a lasting change of p99 is found, at its run and with its size, though some runs are outliers', () => {
  const random = mulberry32(1);
  let found = 0;
  for (let i = 0; i < 40; i++) {
    const last = lastChangePoint(series(random, [18, 5], [8, 8]));
    if (last && Math.abs(last.at - 18) <= 2 && Math.abs(last.ratio - 1.6) < 0.4) found++;
  }
  assert.ok(found >= 28, `${found} of 40`);
});

// Regression: levels without any noise have no memory, and their step was not found.
test('a step between two levels without noise is found', () => {
  assert.equal(lastChangePoint([...Array(12).fill(5), ...Array(12).fill(8)])?.at, 12);
});

test('without times of the machine a change back to a level of before is told from one to a new level', () => {
  const steady = (runs: number, ms: number) =>
    Array.from({ length: runs }, (_, i) => ms * (1 + 0.01 * (i % 3)));
  const found = (...more: number[][]) => lastChangePoint([steady(20, 5), steady(12, 8), ...more].flat());
  assert.deepEqual(found(), { at: 20, ratio: found()?.ratio, machine: null });
  const { at, back = -1 } = found(steady(12, 5)) ?? {};
  assert.ok(at === 32 && back >= 0 && back < 20, `${at}, ${back}`);
  assert.equal(found(steady(12, 6.5))?.back, undefined);
});

// Regression: it disappeared as soon as ten runs knew their machine's times.
test('a change before the times of the machine were known is still found', () => {
  const values = series(mulberry32(3), [20, 5], [30, 8]);
  const times = values.map((_, i) => (i < 30 ? null : 1000));
  const found = lastChangePoint(values, times);
  assert.ok(found !== null && Math.abs(found.at - 20) <= 2, JSON.stringify(found));
});

test('histories without a change rarely have one', () => {
  const random = mulberry32(2);
  let alarms = 0;
  for (let i = 0; i < 300; i++) if (lastChangePoint(series(random, [10 + (i % 30), 5])) !== null) alarms++;
  assert.ok(alarms <= 9, `${alarms} of 300: 1 % are expected`);
});

// With half of the memory it would be one in eight.
test('histories of runs that are like their neighbours by half, and have no change, rarely have one', () => {
  const random = mulberry32(2);
  const correlated = HISTORIES['correlated by 0.5'] as (typeof HISTORIES)[string];
  const named = Array.from({ length: 150 }, (_, i) =>
    lastChangePoint(correlated(random, 40 + (i % 40)).values.map(Math.exp)),
  ).filter((found) => found !== null);
  assert.ok(named.length <= 0.09 * 150, `${named.length} of 150`);
});

// Regression: runs that were like their neighbours by 0.5 had 1.9 change points in 100 runs, a machine of two speeds 3.5.
// coverage.ts prints the table.
for (const name of ['independent', 'correlated by 0.5', 'two speeds in batches of five']) {
  test(`a history that is ${name} has at most one false change point in 100 runs, and a real one is found`, () => {
    const of = HISTORIES[name] as (typeof HISTORIES)[string];
    assert.ok(alarms(24, of) <= 1, `${alarms(24, of)}`);
    assert.ok(found(12, of) >= 0.75, `${found(12, of)}`);
  });
}

// Regression: it had three, as each change back to a speed of before was one.
test('a history of two speeds that knows no times of its machine has about one change to a new level', () => {
  const unknown = alarms(12, HISTORIES['the same, times not known'] as (typeof HISTORIES)[string]);
  assert.ok(unknown <= 1.5, `${unknown}`);
});

test('a history of two speeds that knows no times of its machine shows what the test above would see', () => {
  const blind: typeof lastChangePoint = (values) => {
    const found = lastChangePoint(values);
    return found && { at: found.at, ratio: found.ratio };
  };
  assert.ok(alarms(8, HISTORIES['two speeds in batches of five'] as (typeof HISTORIES)[string], blind) > 1);
});

test('of several changes the last one is named; outliers, few runs and small changes are none', () => {
  const steady = (runs: number, ms: number) =>
    Array.from({ length: runs }, (_, i) => ms * (1 + 0.01 * (i % 3)));
  assert.equal(lastChangePoint([...steady(12, 5), ...steady(12, 8), ...steady(12, 3)])?.at, 24);
  assert.equal(lastChangePoint([...steady(20, 5), 50, 60, ...steady(20, 5)]), null, 'two outliers');
  assert.equal(lastChangePoint([...steady(3, 5), ...steady(3, 9)]), null, 'too few runs');
  assert.equal(lastChangePoint([...steady(20, 5), ...steady(20, 5.1)]), null, 'a change of 2 %');
  assert.equal(lastChangePoint([]), null);
});

// Regression: one run of 5 s made a flat line of all others.
test('one outlier does not set the axis', () => {
  assert.equal(topOf([3, 4, 3.5, 5000]), 4);
  assert.equal(topOf([3, 4, 5, 6, 7, 9, 12, 20]), 20, 'no gap');
  assert.equal(topOf([3, 3, 3, 3, 90, 90, 90, 90]), 90, 'a change is not an outlier');
  assert.equal(topOf([3, 5000]), 5000);
  assert.equal(topOf([]), 0);
});

// Regression: two loads of the same rate and length had one name.
test('no two lines have one name', () => {
  const point = (like: string, more: Partial<Point> = {}) =>
    ({ like, load: '300 requests/s', planned: 7, topology: 'single', network: 'loopback', ...more }) as Point;
  const names = (...points: Point[]) =>
    [...namesOf(points).values()].map((name) => name.replaceAll('\u00a0', ' '));
  assert.deepEqual(names(point('a'), point('b', { load: '8 VUs' })), [
    '300 requests/s for 7 s',
    '8 VUs for 7 s',
  ]);
  assert.deepEqual(names(point('a'), point('b', { topology: 'cluster' })), [
    '300 requests/s for 7 s, single, loopback',
    '300 requests/s for 7 s, cluster, loopback',
  ]);
  const three = names(point('a'), point('b'), point('c'));
  assert.equal(new Set(three).size, 3, three.join());
});
