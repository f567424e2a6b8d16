import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mulberry32, normal } from '../../test/samples.ts';
import { compare } from '../compare.ts';
import type { Difference, Word } from '../comparison.ts';
import { differenceOf } from '../differences.ts';
import { blockLength, fromRepeats } from '../intervals.ts';
import { type Measure, measureOf } from '../measures.ts';
import type { Recording } from '../recording.ts';
import { type Group, grouped } from '../subjects.ts';
import { simulated, type Truth } from './simulated.ts';

const MEASURES = ['arrival.mean', 'arrival.p50', 'arrival.p99', 'arrival.within(3ms)'];

function differences(recordings: Recording[], names = MEASURES): Difference[] {
  const [baseline, other] = grouped(recordings, false) as [Group, Group];
  return names.map((name) => differenceOf(baseline, other, measureOf(name) as Measure) as Difference);
}

/** The words for pairs of runs; the second run is worse by the share `shift`. */
function words(pairs: number, shift: number, truth: Omit<Truth, 'seed'>): Word[] {
  return Array.from({ length: pairs }, (_, i) =>
    differences([
      simulated({ ...truth, seed: 2 * i }),
      simulated({ ...truth, seed: 2 * i + 1, median: 2 * (1 + shift) }),
    ]).map(({ word }) => word),
  ).flat();
}

function share(all: readonly Word[], ...words: Word[]): number {
  return all.filter((one) => words.includes(one)).length / all.length;
}

test('intervals from blocks: identical runs rarely look different', () => {
  const alike = words(30, 0, { samples: 60 });
  assert.ok(share(alike, 'worse', 'better') <= 0.04, `${share(alike, 'worse', 'better')}`);
  assert.ok(share(alike, 'equal') > 0, 'the closest pairs are equal');
});

test('autocorrelated seconds do not add false alarms', () => {
  const alike = words(20, 0, { memory: 0.6, seconds: 120, samples: 40 });
  assert.ok(share(alike, 'worse', 'better') <= 0.06);
});

test('intervals from blocks: a slowdown of 10 % is detected, and the interval contains it', () => {
  const worse = words(12, 0.1, { wander: 0.05 });
  assert.ok(share(worse, 'worse') >= 0.9, `${share(worse, 'worse')}`);
  assert.equal(share(worse, 'better'), 0);
  const [mean] = differences([simulated({ seed: 1 }), simulated({ seed: 2, median: 2.2 })]);
  assert.ok(mean?.interval && mean.interval.low < 0.1 && mean.interval.high > 0.1);
});

test('the interval of a share contains the truth, and has a width even if both shares are 100 %', () => {
  const within = (limit: string, ...runs: Recording[]) => differences(runs, [`arrival.within(${limit})`])[0];
  const worse = within('3ms', simulated({ seed: 1 }), simulated({ seed: 2, median: 2.2 }));
  // Φ(ln(3 / median) / √(0.3² + 0.1²)) is 0.900 and 0.837
  const truth = 0.837 / 0.9 - 1;
  assert.ok(worse?.interval && worse.interval.low < truth && worse.interval.high > truth);
  assert.equal(worse.word, 'worse');
  const all = within('1s', simulated({ seed: 1 }), simulated({ seed: 2 }));
  // 9,000 deliveries: t(0.995) is at least 2.58
  assert.ok(all?.interval && all.interval.high >= 2.58 / 9000 && all.interval.high < 0.001);
  assert.equal(all.word, 'equal');
});

test('the same runs give the same intervals', () => {
  const pair = () => [simulated({ seed: 1 }), simulated({ seed: 2 })];
  assert.deepEqual(compare(pair()), compare(pair()));
});

test('intervals from repeats include the spread between runs', () => {
  const repeats = (seed: number, count: number, median: number, build: string) =>
    Array.from({ length: count }, (_, i) => {
      const recording = simulated({ seed: seed + i, median, repeat: 0.1, seconds: 20, samples: 50 });
      recording.run.run.labels = { build };
      return recording;
    });
  const alike = Array.from({ length: 20 }, (_, i) =>
    differences([...repeats(100 * i, 4, 2, 'a'), ...repeats(100 * i + 50, 4, 2, 'b')]),
  ).flat();
  assert.match(alike[0]?.interval?.from ?? '', /^4 and 4 runs$/);
  const seen = share(
    alike.map(({ word }) => word),
    'worse',
    'better',
  );
  assert.ok(seen <= 0.05, `${seen}`);
  const [worse] = differences([...repeats(7, 6, 2, 'a'), ...repeats(70, 6, 3, 'b')]);
  assert.equal(worse?.word, 'worse');
});

test('the intervals of repeats, and of one run against repeats, match t tables', () => {
  // Welch: difference of means 3, standard error √(1/3 + 4/3), 2.94 degrees of freedom: t(0.995) = 5.95
  const welch = fromRepeats([1, 2, 3], [3, 5, 7]);
  assert.ok(Math.abs(welch.low - (3 - 5.95 * Math.sqrt(5 / 3))) < 0.05, `${welch.low}`);
  // s = 1, √(1 + 1/3), 2 degrees of freedom: t(0.995) = 9.925
  const single = fromRepeats([1, 2, 3], [4]);
  assert.ok(Math.abs(single.high - (2 + 9.925 * Math.sqrt(4 / 3))) < 0.01, `${single.high}`);
});

test('identical repeats are known only to the resolution of the histogram', () => {
  // A standard error of 0.1 % with 2 degrees of freedom: t(0.995) = 9.925
  const [one, other] = [Math.log(1), Math.log(1.012)];
  const { low, high } = fromRepeats([one, one], [other, other]);
  assert.ok(Math.abs(low - (other - 0.009925)) < 1e-5, `${low}`);
  assert.ok(Math.abs(high - (other + 0.009925)) < 1e-5, `${high}`);
  assert.ok(low < Math.log(1.01), 'not certainly worse');
});

test('blocks are twice as long as the autocorrelation of their series', () => {
  const random = mulberry32(3);
  let state = 0;
  const wandering = Array.from({ length: 4000 }, () => {
    state = 0.6 * state + normal(random);
    return state;
  });
  // (1 + 0.6) / (1 − 0.6) = 4
  assert.ok(Math.abs(blockLength(wandering) - 8) <= 2, `${blockLength(wandering)}`);
  assert.ok(blockLength(Array.from({ length: 4000 }, () => normal(random))) <= 3);
});

test('a difference between runs too short for blocks has no interval and is undecided', () => {
  const [p50] = differences(
    [simulated({ seed: 1, seconds: 6 }), simulated({ seed: 2, seconds: 6 })],
    ['arrival.p50'],
  );
  assert.equal(p50?.interval, null);
  assert.equal(p50?.word, 'undecided');
  assert.match(p50?.why ?? '', /^too short: \d blocks/);
});
