import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changes, inOrder, lastingChangesOf, pointsOf } from '../changes.ts';
import type { Entry } from '../entry.ts';

/** Entries in the order of the catalogue: the newest first. */
function entries(...given: Partial<Entry>[]): Entry[] {
  const all = given.map((one, i) => ({
    directory: `run-${i + 1}`,
    started: `2026-11-2${i + 1}T10:00:00Z`,
    like: 'ramp',
    verdict: 'pass',
    live: false,
    generator: null,
    labels: {},
    facts: {},
    arrival: { p50: 1, p99: 10 },
    account: { scheduled: 100, arrived: 100 },
    doubt: null,
    missed: null,
    calibration: null,
    ...one,
  }));
  return all.toReversed() as Entry[];
}
const p99 = (value: number) => ({ arrival: { p50: 1, p99: value } });

test('a change compares with the last usable run of the same load, and lists what else differs', () => {
  const all = entries(
    { ...p99(10), facts: { build: '17', queue: 'stream' } },
    { ...p99(500), verdict: 'invalid' },
    { ...p99(500), verdict: 'fail', account: { scheduled: 100, arrived: 99 } },
    { ...p99(500), live: true },
    { ...p99(500), doubt: 'too_high' },
    { ...p99(500), like: 'spike' },
    { ...p99(15), verdict: 'fail', facts: { build: '18', queue: 'stream', P99: '0.1' } },
  );
  assert.deepEqual(
    [...changes(all)].map(([entry, change]) => [entry.directory, change]),
    [['run-7', { from: 'run-1', p99: 0.5, differs: ['build: 17 → 18', 'P99: – → 0.1'] }]],
  );
});

test('the machine comes first among what differs beside a change, the commit last', () => {
  const all = entries(
    { ...p99(10), facts: { commit: 'a', build: '17', machine: 'EPYC, 2 cores' } },
    { ...p99(15), facts: { commit: 'b', build: '18', machine: 'EPYC, 4 cores' } },
  );
  assert.deepEqual(
    [...changes(all).values()].map(({ differs }) => differs),
    [['machine: EPYC, 2 cores → EPYC, 4 cores', 'build: 17 → 18', 'commit: a → b']],
  );
});

test('the chart has the finished runs with a p99, the oldest first', () => {
  const all = entries({}, { arrival: { p50: 1, p99: null } }, { verdict: 'invalid' }, { live: true });
  assert.deepEqual(
    pointsOf(all).map(({ directory, verdict }) => [directory, verdict]),
    [
      ['run-1', 'pass'],
      ['run-3', 'invalid'],
    ],
  );
});

test('runs without a value come last in both sort orders', () => {
  const all = entries(p99(10), { arrival: null }, p99(30), p99(20));
  const names = (ascending: boolean, order: 'p99' | 'change' = 'p99') =>
    inOrder(all, changes(all), order, ascending).map(({ directory }) => directory);
  assert.deepEqual(names(true), ['run-1', 'run-4', 'run-3', 'run-2']);
  assert.deepEqual(names(false), ['run-3', 'run-4', 'run-1', 'run-2']);
  assert.deepEqual(names(false, 'change'), ['run-3', 'run-4', 'run-2', 'run-1']);
});

test('a lasting change that goes with the time of the machine is said to be the machine’s', () => {
  const runs = (slower: number) =>
    entries(
      ...Array.from({ length: 24 }, (_, i) => {
        const wiggle = 1 + 0.01 * (i % 3);
        return { ...p99((i < 12 ? 10 : 13) * wiggle), calibration: (i < 12 ? 500 : 500 * slower) * wiggle };
      }),
    );
  const [moved] = lastingChangesOf(runs(1.3));
  assert.deepEqual([moved?.number, Math.round(100 * (moved?.machine ?? 0))], [13, 30]);
  const [own] = lastingChangesOf(runs(1));
  assert.deepEqual([own?.number, own?.machine], [13, undefined], 'the machine is as fast as before');
  const unknown = runs(1).map((entry) => ({ ...entry, calibration: null }));
  assert.deepEqual(
    lastingChangesOf(unknown).map(({ number, machine }) => [number, machine]),
    [[13, null]],
  );
});

// Regression: the ratio of adjusted values stood there as if it had been measured.
test('a lasting change is the measured one; adjusted for the speed of the machine stands beside it', () => {
  const runs = (faster: number) =>
    entries(
      ...Array.from({ length: 24 }, (_, i) => {
        const wiggle = 1 + 0.3 * (i % 2);
        return { ...p99((i < 12 ? 10 : 13) * wiggle), calibration: (i < 12 ? 500 : 500 / faster) * wiggle };
      }),
    );
  const [found] = lastingChangesOf(runs(1.25));
  assert.equal(found?.number, 13);
  assert.ok(Math.abs((found?.p99 ?? 0) - 0.3) < 0.05, `measured: ${found?.p99}`);
  assert.ok((found?.adjusted ?? 0) > 0.5, `adjusted: ${found?.adjusted}`);
  assert.equal(lastingChangesOf(runs(1))[0]?.adjusted, undefined, 'the machine is as fast as before');
});
