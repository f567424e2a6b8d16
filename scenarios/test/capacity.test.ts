import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../../reports/run.ts';
import { sentence } from '../capacity/answer.ts';
import { gaveWay } from '../capacity/judge.ts';
import { confirm, search } from '../capacity/search.ts';
import { node } from './harness.ts';

const SEARCH = { start: 500, lowest: 10, highest: 50_000, precision: 0.05, most: 20 };

/** A pipeline that holds what is not above its capacity, and the rates that it was asked for. */
function pipeline(capacity: number) {
  const tried: number[] = [];
  return { tried, holds: async (rate: number) => tried.push(rate) > 0 && rate <= capacity };
}

for (const capacity of [10, 11, 137, 500, 3141, 20_000, 49_999]) {
  test(`a capacity of ${capacity} is found to the precision`, async () => {
    const { holds, tried } = pipeline(capacity);
    const { held, notHeld } = await search(SEARCH, holds);
    assert.ok(held <= capacity && notHeld !== undefined && notHeld > capacity, `${held} to ${notHeld}`);
    assert.ok(notHeld <= held * 1.05 || notHeld === held + 1, `${held} to ${notHeld}`);
    assert.equal(new Set(tried).size, tried.length, 'no rate is tried twice');
  });
}

test('where no rate holds, or all do, the search says so', async () => {
  assert.deepEqual(await search(SEARCH, pipeline(9).holds), { held: 0, notHeld: 10 });
  assert.deepEqual(await search(SEARCH, pipeline(1e9).holds), { held: 50_000, notHeld: undefined });
  assert.deepEqual(await search({ ...SEARCH, most: 2 }, pipeline(1e9).holds), {
    held: 1000,
    notHeld: undefined,
  });
});

const CHECK = { lowest: 10, highest: 50_000, precision: 0.05, most: 8 };

/** Confirms a bracket on a pipeline that really has a capacity; the rates tried as the lower end, and as the upper one. */
async function confirmed(bracket: { held: number; notHeld: number | undefined }, capacity: number) {
  const [low, high]: [number[], number[]] = [[], []];
  const answer = await confirm(
    bracket,
    CHECK,
    async (rate) => low.push(rate) > 0 && rate <= capacity,
    async (rate) => high.push(rate) > 0 && rate > capacity,
  );
  return { answer, low, high };
}

test('both ends of a bracket that is right are tried once', async () => {
  const { answer, low, high } = await confirmed({ held: 1000, notHeld: 1040 }, 1020);
  assert.deepEqual([answer, low, high], [{ held: 1000, notHeld: 1040 }, [1000], [1040]]);
});

test('a probe that was disturbed, or had luck, does not decide the answer', async () => {
  const tooLow = await confirmed({ held: 1000, notHeld: 1040 }, 1100);
  assert.deepEqual(tooLow.answer, { held: 1092, notHeld: 1147 });
  assert.deepEqual(tooLow.high, [1040, 1092, 1147]);
  const tooHigh = await confirmed({ held: 1000, notHeld: 1040 }, 930);
  assert.deepEqual(tooHigh.answer, { held: 906, notHeld: 952 });
  assert.deepEqual(tooHigh.high, [], 'what did not hold as the lower end is not tried as the upper one');
});

test('a bracket is confirmed between the lowest and the highest rate, and the checks end', async () => {
  assert.deepEqual((await confirmed({ held: 10, notHeld: 11 }, 5)).answer, { held: 0, notHeld: 10 });
  assert.deepEqual((await confirmed({ held: 50_000, notHeld: undefined }, 1e9)).answer, {
    held: 50_000,
    notHeld: undefined,
  });
  assert.deepEqual((await confirmed({ held: 49_000, notHeld: 49_900 }, 1e9)).answer, {
    held: 50_000,
    notHeld: undefined,
  });
  const endless = await confirmed({ held: 1000, notHeld: 1040 }, 1e9);
  assert.equal(endless.low.length + endless.high.length, CHECK.most);
  assert.equal((await confirmed({ held: 0, notHeld: 10 }, 5)).low.length, 0);
});

/** As much of a run as is asked about. */
function run(stages: Record<string, number>, { rejected = 0, http = 1 } = {}): Run {
  const means = Object.entries(stages).map(([name, mean]) => [name, { mean }]);
  return {
    account: { rejected },
    latency: { stages: Object.fromEntries(means) },
    steps: [{ measured: true, requests: 10_000, duration_s: 10, latency: { http: { mean: http } } }],
  } as unknown as Run;
}

test('what gave way is the stage that grew, or what it stands for', () => {
  const held = run({ schedule: 0.1, request: 1, queue: 2 });
  assert.equal(gaveWay(held, run({ schedule: 0.2, request: 2, queue: 90 })), 'queue');
  assert.equal(gaveWay(undefined, run({ schedule: 0.2, request: 200, queue: 90 })), 'request');
  assert.equal(
    gaveWay(held, run({ schedule: 90, request: 2, queue: 3 })),
    'schedule: the generator, not the pipeline',
  );
  assert.equal(gaveWay(held, run({ schedule: 90, request: 2, queue: 3 }, { http: 250 })), 'request');
  assert.equal(gaveWay(held, run({ queue: 9 }, { rejected: 5 })), 'ingest, which refused messages');
  assert.equal(gaveWay(held, run({})), undefined);
});

test('a wrong setting of the search is told in one line, before anything starts', async () => {
  const wrong = [
    [['-e', 'P99=0'], 'P99 is "0"; allowed: 1 to 3600000, ms that p99 of the arrival has to stay below'],
    [['-e', 'LOWEST=99', '-e', 'HIGHEST=9'], 'LOWEST is 99, above HIGHEST, 9'],
    [['--vus', '3'], '--vus is not known; allowed: -e NAME=value, --help'],
  ] as const;
  await Promise.all(
    wrong.map(async ([args, message]) => {
      const { stderr, exitCode } = await node(['scenarios/capacity/main.ts', ...args], {});
      assert.equal(stderr, message);
      assert.equal(exitCode, 1);
    }),
  );
});

test('the answer says what ended a search that no rate did', () => {
  const rows = [1, 2].map(() => ({ rate: 400, seconds: 1, holds: true, p99_ms: 2, reasons: [] }));
  const said = (highest: number) =>
    sentence({ p99_limit_ms: 100, rate: 400, not_held: null, gave_way: null }, rows, 1, highest).split(
      '\n',
    )[1];
  assert.equal(said(400)?.trim(), 'no higher rate was tried: HIGHEST ends the search there');
  assert.equal(said(50_000)?.trim(), 'no higher rate was tried: PROBES ends the search there');
});
