import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Clock, type Estimate, estimate, type Sample, wallClockBase } from './clock.ts';

test('without samples the bound is infinite', () => {
  const { offset_us, bound_us } = estimate([], 0);
  assert.deepEqual([offset_us, bound_us], [0, Number.POSITIVE_INFINITY]);
});

interface Vector extends Estimate {
  name: string;
  samples: Sample[];
}

const vectors: Vector[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../reports/contract/clock.vectors.json'), 'utf8'),
);
for (const { name, samples, at, ...expected } of vectors) {
  test(name, () => {
    const got = estimate(samples, at);
    assert.equal(got.kept, expected.kept);
    for (const figure of ['offset_us', 'bound_us', 'drift_ppm'] as const) {
      assert.ok(
        Math.abs(got[figure] - expected[figure]) < 1e-3,
        `${figure}: ${got[figure]}, not ${expected[figure]}`,
      );
    }
  });
}

test('the wall clock is read to within 1 µs despite interruptions', () => {
  const wallAtZero = 1_790_000_000_000.5;
  const read = (costMs: (at: number) => number) => {
    let at = 0;
    const look = () => {
      at += costMs(at);
      return at;
    };
    const base = wallClockBase(look, () => Math.floor(wallAtZero + look()));
    return { error_us: Math.abs(base - wallAtZero * 1000), at };
  };
  const quick = read(() => 1e-4);
  assert.ok(quick.error_us < 1 && quick.at < 2, `${quick.error_us} µs after ${quick.at} ms`);
  const paused = read((at) => (at < 8 ? 0.031 : 1e-4));
  assert.ok(paused.error_us < 1 && paused.at < 10, `${paused.error_us} µs after ${paused.at} ms`);
  // Always interrupted: it still ends, and uses all ticks.
  const always = read(() => 0.031);
  assert.ok(always.error_us < 31 && always.at < 60, `${always.error_us} µs after ${always.at} ms`);
});

test('a clock follows its reference, in whole microseconds', async (t) => {
  const { clock, reference, off } = scripted(t);
  reference.ahead = 3_600_000;
  await clock.probe();
  assert.ok(Number.isInteger(clock.now()));
  assert.ok(Math.abs(off()) <= 1, `${off()} µs off`);
});

test('a clock that agrees with its reference has offset 0', async () => {
  const clock = new Clock(async () => clock.now());
  await clock.probe();
  assert.equal(clock.estimate.offset_us, 0);
});

test('a clock keeps its estimate when its reference fails', async () => {
  let away = false;
  const clock = new Clock(async () => {
    if (away) throw new Error('away');
    return Date.now() * 1000 + 1e9;
  });
  await clock.probe();
  away = true;
  await assert.rejects(clock.probe(), /away/);
  assert.ok(clock.now() > Date.now() * 1000 + 0.9e9);
});

/** A clock in virtual time, and a reference that is `ahead` ms ahead behind a network with `delays`. */
function scripted(t: TestContext) {
  const epoch = 1_763_700_000_000;
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  // Each read takes a quarter of a µs, a binary fraction, so a tick is noticed within 1 µs.
  t.mock.method(Date, 'now', () => {
    now += 2 ** -12;
    return Math.floor(epoch + now);
  });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const reference = {
    ahead: 0,
    away: false,
    asked: 0,
    /** The delays of each probe there and back, in ms. */
    delays: [[0.25, 0.25]] as [number, number][],
  };
  const clock = new Clock(async () => {
    if (reference.away) throw new Error('away');
    const [there, back] = reference.delays[reference.asked++ % reference.delays.length] as [number, number];
    now += there + back;
    return (epoch + now - back + reference.ahead) * 1000;
  });
  /** Lets time pass, and completes due probes. */
  const pass = async (ms: number) => {
    now += ms;
    t.mock.timers.tick(ms);
    await setImmediate();
  };
  const off = () => clock.now() - (epoch + now + reference.ahead) * 1000;
  return { clock, reference, pass, off };
}

for (const [position, where] of ['first', 'second', 'third', 'last'].entries()) {
  test(`a round counts the sample with the shortest round trip: the ${where}`, async (t) => {
    const { clock, reference, off } = scripted(t);
    reference.ahead = 5000;
    reference.delays = [
      [8, 0],
      [0, 16],
      [4, 0],
      [0, 32],
    ];
    reference.delays[position] = [0.5, 0.5];
    await clock.probe();
    assert.equal(reference.asked, 4);
    const { bound_us, kept } = clock.estimate;
    assert.equal(kept, 1);
    assert.ok(Math.abs(off()) < 1, `${off()} µs off`);
    // Half of the round trip, plus the possible drift during the rest of the round.
    assert.ok(bound_us > 500 && bound_us < 510, `${bound_us} µs`);
  });
}

test('a clock probes ten times a second until it is stopped, and follows its reference', async (t) => {
  const { clock, reference, pass, off } = scripted(t);
  await clock.start();
  assert.equal(reference.asked, 4);
  for (let round = 2; round <= 5; round++) {
    await pass(99);
    assert.equal(reference.asked, (round - 1) * 4);
    await pass(1);
    assert.equal(reference.asked, round * 4);
  }
  assert.ok(Math.abs(off()) <= 1, `${off()} µs off`);

  reference.ahead = 1000;
  await pass(100);
  assert.ok(Math.abs(off()) <= 1, `${off()} µs off`);

  reference.away = true;
  await pass(1000);
  assert.ok(Math.abs(off()) <= 1, 'the estimate outlives the reference');
  const { bound_us } = clock.estimate;
  reference.away = false;
  await pass(100);
  assert.ok(clock.estimate.bound_us < bound_us, 'the reference is back');

  clock.stop();
  const { asked } = reference;
  await pass(1000);
  assert.equal(reference.asked, asked);
});

// Regression: with a round trip of 25 ms and more, samples were out of order, and good ones were left out.
test('a clock asks a slow reference one question at a time', async (t) => {
  const answers: ((us: number) => void)[] = [];
  const clock = new Clock(() => new Promise((answer) => answers.push(answer)));
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => clock.stop());
  const started = clock.start();
  t.mock.timers.tick(1000);
  assert.equal(answers.length, 1);
  for (let asked = 1; asked <= 4; asked++) {
    answers.at(-1)?.(1);
    await setImmediate();
  }
  await started;
  assert.equal(answers.length, 4);
  t.mock.timers.tick(100);
  assert.equal(answers.length, 5, 'the next round');
});

test('an old short round trip still counts among many long ones', async (t) => {
  const { clock, reference, pass } = scripted(t);
  await clock.probe();
  reference.delays = [[10, 10]];
  for (let round = 0; round < 100; round++) {
    await pass(100);
    await clock.probe();
  }
  const { bound_us, kept } = clock.estimate;
  assert.equal(kept, 64);
  assert.ok(bound_us < 5000, `${bound_us} µs, half of a round trip is 10,000`);
});
