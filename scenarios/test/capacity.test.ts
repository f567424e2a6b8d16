import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Rule, Run } from '../../reports/contract/run.ts';
import { golden } from '../../reports/test/goldens.ts';
import { answerFigures, answerOf, line, probesOf, type Row, sentence } from '../campaigns/capacity/answer.ts';
import { about, Budget } from '../campaigns/capacity/budget.ts';
import { findCapacity } from '../campaigns/capacity/find.ts';
import { judge } from '../campaigns/capacity/judge.ts';
import { main } from '../campaigns/capacity/main.ts';
import {
  ahead,
  type Bracket,
  confirm,
  NOTHING,
  type Outcome,
  search,
  tried,
} from '../campaigns/capacity/search.ts';
import { assertRefused, killRelay, node, place, run, terminal } from './harness.ts';

const SEARCH = { start: 500, lowest: 10, highest: 50_000, precision: 0.05 };
const always = () => true;

/** A pipeline that holds rates up to its capacity, and records the tried rates. */
function pipeline(capacity: number) {
  const tried: number[] = [];
  return { tried, holds: async (rate: number) => tried.push(rate) > 0 && rate <= capacity };
}

for (const capacity of [10, 11, 137, 500, 3141, 20_000, 49_999]) {
  test(`the search finds a capacity of ${capacity} within the precision`, async () => {
    const { holds, tried } = pipeline(capacity);
    const { held, notHeld } = await search(SEARCH, holds, always);
    assert.ok(held <= capacity && notHeld !== undefined && notHeld > capacity, `${held} to ${notHeld}`);
    assert.ok(notHeld <= held * 1.05 || notHeld === held + 1, `${held} to ${notHeld}`);
    assert.equal(new Set(tried).size, tried.length, 'no rate is tried twice');
  });
}

test('the search reports that no rate holds, or that all do', async () => {
  assert.deepEqual(await search(SEARCH, pipeline(9).holds, always), { held: 0, notHeld: 10 });
  const all = await search(SEARCH, pipeline(1e9).holds, always);
  assert.deepEqual(all, { held: 50_000, notHeld: undefined });
});

test('a search that runs out of time returns the bracket found so far', async () => {
  const { holds, tried } = pipeline(1e9);
  const found = await search(SEARCH, holds, () => tried.length < 2);
  assert.deepEqual(found, { held: 1000, notHeld: undefined });
});

/** Confirms a bracket on a pipeline with this capacity. Returns the answer and the tried rates. */
async function confirmed(bracket: Bracket, capacity: number) {
  const { tried, holds } = pipeline(capacity);
  return { answer: await confirm(bracket, SEARCH, holds, always), tried };
}

test('confirm tries both ends of a correct bracket once', async () => {
  const { answer, tried } = await confirmed({ held: 1000, notHeld: 1040 }, 1020);
  assert.deepEqual([answer, tried], [{ held: 1000, notHeld: 1040 }, [1000, 1040]]);
});

test('confirm corrects a bracket that is too low or too high', async () => {
  const tooLow = await confirmed({ held: 1000, notHeld: 1040 }, 1100);
  assert.deepEqual(tooLow.tried, [1000, 1040, 1092, 1201, 1145]);
  assert.deepEqual(tooLow.answer, { held: 1092, notHeld: 1145 });
  const tooHigh = await confirmed({ held: 1000, notHeld: 1040 }, 930);
  assert.deepEqual(tooHigh.tried, [1000, 953, 867, 909]);
  assert.deepEqual(tooHigh.answer, { held: 909, notHeld: 953 });
  const farTooHigh = await confirmed({ held: 16_000, notHeld: 16_700 }, 500);
  assert.ok(farTooHigh.tried.length < 15, `${farTooHigh.tried}`);
  assert.ok(farTooHigh.answer.held > 470 && farTooHigh.answer.held <= 500);
});

test('confirm stays between the lowest and the highest rate', async () => {
  assert.deepEqual((await confirmed({ held: 10, notHeld: 11 }, 5)).answer, { held: 0, notHeld: 10 });
  for (const probed of [
    { held: 50_000, notHeld: undefined },
    { held: 49_000, notHeld: 49_900 },
    { held: 1000, notHeld: 1040 },
  ])
    assert.deepEqual((await confirmed(probed, 1e9)).answer, { held: 50_000, notHeld: undefined });
  assert.deepEqual((await confirmed({ held: 0, notHeld: 10 }, 5)).tried, []);
  // After a search that ran out of time, confirm tries no higher rate.
  const { answer, tried } = await confirmed({ held: 1000, notHeld: undefined }, 1e9);
  assert.deepEqual([answer, tried], [{ held: 1000, notHeld: undefined }, [1000]]);
});

// Regression: the second run at a rate reused the directory of the first, which k6 refuses.
test('a rate that fails a longer run is tried again, then a lower one is confirmed', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const limits = { P99: 100, CONFIRM: 30, MINUTES: 10, LOWEST: 10, HIGHEST: 2000, PRECISION: 0.5 };
  const budget = new Budget(600, { quick: 3, probe: 10, confirm: 30 });
  const wanted = { start: 500, lowest: 10, highest: 2000, precision: 0.5 };
  const tried: string[] = [];
  const code = await findCapacity(
    limits,
    { wanted, lengths: { quick: 3, probe: 10 }, budget },
    dir,
    terminal().io,
    async (rate, seconds, runDir) => {
      assert.ok(!existsSync(join(runDir, 'run.json')), `a run is in ${runDir}`);
      tried.push(`${rate} for ${seconds} s`);
      const run = golden(rate <= (seconds === 30 ? 700 : 1000) ? 'passing' : 'failing');
      run.figures = [{ name: 'rate', value: rate, unit: '/s' }];
      await mkdir(runDir, { recursive: true });
      await writeFile(join(runDir, 'run.json'), JSON.stringify(run));
    },
  );
  assert.equal(code, 0);
  assert.deepEqual(tried.filter((one) => one.endsWith('30 s')).slice(0, 3), [
    '1000 for 30 s',
    '1000 for 30 s',
    '667 for 30 s',
  ]);
  const { figures = [], probes } = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as Run;
  assert.equal(figures[0]?.value, 667, 'the report shows the run that held');
  const listed = JSON.parse(await readFile(join(dir, 'capacity.json'), 'utf8')) as {
    probes: Row[];
  };
  assert.deepEqual(probes, probesOf(listed.probes), 'and the ladder of all that were tried');
});

/** A broken rule on the instrument that puts claims in doubt. */
const doubt = (name: string, ...claims: ('arrival' | 'load')[]): Rule => ({
  ...{ name, reason: `${name} was broken`, ok: false, result: 'doubt' },
  ...{ value: 1, op: '<=', limit: 0, unit: '', basis: '', part: 'pipeline' },
  doubts: claims.map((claim) => ({ claim, direction: 'too_high' })),
});

test('a rate is held, not held or undecided as the verdict of its run is', () => {
  assert.deepEqual(judge(golden('passing')), { outcome: 'held', why: '' });
  assert.deepEqual(judge(golden('failing')), {
    outcome: 'not held',
    why: 'arrival p99 4,020 ms, limit < 250 ms; 192 messages were lost',
  });
});

// Regression: the matrix printed "undecided: undecided: arrival p99 …".
test('the reason of an undecided run does not repeat its outcome', () => {
  const run = golden('failing');
  run.verdict.result = 'invalid';
  run.verdict.reasons = ['undecided: arrival p99 340 ms, limit < 100 ms'];
  assert.deepEqual(judge(run), { outcome: 'undecided', why: 'arrival p99 340 ms, limit < 100 ms' });
});

// Regression: capacity said "held" and exited with 0, while the report of the same run said "Not usable".
test('a run whose verdict is undecided holds no rate', () => {
  for (const name of ['gap', 'unbalanced', 'unjudged', 'incomplete'] as const) {
    const { outcome, why } = judge(golden(name));
    assert.equal(outcome, 'undecided', name);
    assert.notEqual(why, '', name);
  }
});

test('a rate holds despite a doubt that decides no limit, but not if it was not offered', () => {
  const run = golden('passing');
  const rules = run.verdict.rules as Rule[];
  run.verdict.rules = [...rules, doubt('lateness', 'arrival')];
  assert.equal(judge(run).outcome, 'held');
  run.verdict.rules = [...rules, doubt('lateness', 'arrival'), doubt('offered', 'load')];
  assert.deepEqual(judge(run), { outcome: 'undecided', why: 'offered was broken' });
});

test('a rate that does not hold is undecided where others took the CPU', () => {
  const run = golden('failing');
  run.facts.disturbed = 'other processes took 10 % of the CPU';
  const { outcome, why } = judge(run);
  assert.equal(outcome, 'undecided');
  assert.match(why, /^arrival p99 4,020 ms, .*; other processes took 10 %/);
});

test('a rate is tried up to four times, until it holds once or fails twice', async () => {
  const outcomes = async (given: Outcome[], isTime = always) => {
    let tries = 0;
    const holds = await tried(async () => given[tries++] ?? 'held', isTime);
    return `${holds} after ${tries}`;
  };
  assert.equal(await outcomes(['held']), 'true after 1');
  assert.equal(await outcomes(['not held', 'held']), 'true after 2');
  assert.equal(await outcomes(['not held', 'not held', 'held']), 'false after 2');
  assert.equal(await outcomes(['undecided', 'not held', 'undecided', 'held']), 'true after 4');
  assert.equal(await outcomes(['undecided', 'undecided', 'undecided', 'undecided', 'held']), 'false after 4');
  assert.equal(await outcomes(['undecided', 'held'], () => false), 'false after 1');
});

test('the answer is in time and within 10 %, though half of the runs lose up to 30 % CPU', async () => {
  const LENGTHS = { quick: 3, probe: 10, confirm: 30 };
  const limit = 600;
  for (let seed = 1; seed <= 20; seed++) {
    let state = seed;
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    };
    let now = 0;
    const budget = new Budget(limit, LENGTHS, () => now);
    budget.begin();
    let probing = true;
    const holds = (rate: number, { held, notHeld }: Bracket) => {
      const length = !probing ? LENGTHS.confirm : held && notHeld ? LENGTHS.probe : LENGTHS.quick;
      return tried(
        async () => {
          now += length + 5;
          budget.took(length, length + 5);
          const stolen = random() < 0.5 ? 0.3 * random() : 0; // share of the CPU
          if (rate <= 13_000 * (1 - stolen)) return 'held';
          return stolen > 0.02 && 0.98 * rate <= 13_000 ? 'undecided' : 'not held';
        },
        () => (probing ? budget.hasProbe : budget.hasConfirmation),
      );
    };
    const probed = await search(SEARCH, holds, () => budget.hasProbe);
    probing = false;
    const { held } = await confirm(probed, SEARCH, holds, () => budget.hasConfirmation);
    assert.ok(held <= 13_000 && held > 13_000 / 1.1, `seed ${seed}: ${held}`);
    assert.ok(now <= limit, `seed ${seed}: ${now} s`);
  }
});

test('the time left is estimated from the bracket', () => {
  assert.deepEqual(ahead(NOTHING, SEARCH), { doublings: 7, halvings: 4 });
  assert.deepEqual(ahead({ held: 8000, notHeld: undefined }, SEARCH), { doublings: 3, halvings: 4 });
  assert.deepEqual(ahead({ held: 0, notHeld: 500 }, SEARCH), { doublings: 6, halvings: 4 });
  assert.deepEqual(ahead({ held: 8000, notHeld: 16_000 }, SEARCH), { doublings: 0, halvings: 4 });
  for (const done of [
    { held: 8000, notHeld: 8300 },
    { held: 50_000, notHeld: undefined },
    { held: 0, notHeld: 10 },
  ])
    assert.deepEqual(ahead(done, SEARCH), { doublings: 0, halvings: 0 });

  let now = 100;
  const budget = new Budget(300, { quick: 3, probe: 10, confirm: 30 }, () => now);
  assert.equal(budget.least, 15 + 3 * 35);
  budget.begin();
  budget.took(3, 5); // 2 s more than the load itself
  assert.equal(budget.ofSearch(NOTHING, SEARCH), 7 * 5 + 6 * 12 + 3 * 32);
  assert.equal(budget.ofConfirming(NOTHING, SEARCH), 3 * 32);
  assert.equal(budget.ofConfirming({ held: 8000, notHeld: undefined }, SEARCH), 2 * 32);
  assert.equal(budget.ofConfirming({ held: 8000, notHeld: 8300 }, SEARCH), 0);
  assert.equal(budget.ofConfirming({ held: 50_000, notHeld: undefined }, SEARCH), 0);
  assert.equal(budget.ofConfirming({ held: 0, notHeld: 10 }, SEARCH), 0);
  now = 100 + 300 - (12 + 96);
  assert.equal(budget.hasProbe, true);
  now += 1;
  assert.equal(budget.hasProbe, false);
  assert.equal(budget.ofSearch(NOTHING, SEARCH), 107, 'at most the time left');
  now = 100 + 300 - 32;
  assert.equal(budget.hasConfirmation, true);
  now += 1;
  assert.equal(budget.hasConfirmation, false);
  assert.deepEqual([about(3), about(61), about(100), about(290)], ['10 s', '70 s', '2 min', '5 min']);
});

test('a search that MINUTES ended says how many would do', () => {
  const lengths = { quick: 3, probe: 10, confirm: 30 };
  const enough = (minutes: number, found: Bracket) =>
    new Budget(60 * minutes, lengths).enoughFor(found, SEARCH);
  // 1.5 tries of 2 doublings at 8 s and 4 halvings at 15 s, and 3 confirming runs at 35 s.
  assert.equal(enough(2, { held: 500, notHeld: 1000 }), Math.ceil((1.5 * (2 * 8 + 4 * 15) + 3 * 35) / 60));
  const far = enough(2, { held: 8000, notHeld: 16_000 });
  assert.ok(far > enough(2, { held: 500, notHeld: 1000 }), 'a rate far from the first one takes longer');
  assert.equal(enough(2, { held: 8000, notHeld: undefined }), far);
  // Ten minutes would have done, and repeats used them up: half the bracket is left.
  assert.equal(enough(10, { held: 500, notHeld: 550 }), Math.ceil(10 + (1.5 * 35) / 60));
  assert.ok(enough(10, { held: 500, notHeld: 510 }) > 10, 'the upper end is not confirmed');
});

test('an invalid setting fails with one line before anything starts', async () => {
  const wrong = [
    [['-e', 'P99=0'], 'P99 is "0"; allowed: 1 to 3600000, limit of arrival p99, ms'],
    [['-e', 'LOWEST=99', '-e', 'HIGHEST=9'], 'LOWEST is 99, above HIGHEST, 9'],
    [
      ['-e', 'MINUTES=2', '-e', 'CONFIRM=60'],
      'MINUTES is 2, and a search with CONFIRM=60 takes 4 min at least: more MINUTES, or a shorter CONFIRM',
    ],
    [['--vus', '3'], '--vus is not known; allowed: -e NAME=value, --help'],
    [['-e', 'RATE=10'], /^RATE is not a setting of npm run capacity; allowed: .*LOWEST.*START/],
  ] as const;
  await Promise.all(
    wrong.map(async ([args, message]) => {
      await assertRefused(main, args, {}, message);
    }),
  );
});

// Regression: the search took them, and its help did not list them.
test('--help lists the settings of the runs, and those of a pipeline of your own', async () => {
  const { exitCode, stdout } = await run(main, ['--help']);
  assert.equal(exitCode, 0);
  for (const name of ['MINUTES', 'DRAIN', 'CANARY', 'ARRIVE'])
    assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'));
  assert.doesNotMatch(stdout, /^ {2}(RATE|DURATION) /m);
});

// Regression: every later rate was "not held", and the search printed an answer and exited with 0.
test('the search fails with the reason when a process of the pipeline dies', async (t) => {
  const { dir, runDir, env } = await place(t);
  const settings = ['P99=60000', 'START=50', 'PROBE=1', 'CONFIRM=1', 'WARMUP=0.1', `RUN_DIR=${runDir}`];
  const args = settings.flatMap((setting) => ['-e', setting]);
  const search = node(['scenarios/campaigns/capacity/main.ts', ...args], env);
  search.stdout.on('data', (text) => {
    if (/ (not )?held/.test(String(text))) killRelay(dir);
  });
  const { exitCode, all } = await search;
  assert.match(String(all), /^relay-1 was killed by SIGKILL$/m);
  assert.doesNotMatch(String(all), /^capacity /m);
  assert.equal(exitCode, 1);
});

/** The rows of `n` runs at a rate. */
const rowsAt = (rate: number, seconds: number, outcome: Outcome, why = '', n = 1): Row[] =>
  Array.from({ length: n }, () => ({ rate, seconds, outcome, p99_ms: outcome === 'held' ? 2 : 340, why }));

test('a run prints one line with the time left of the search', () => {
  const printed = (row: Row | undefined, ahead: number) => line(row as Row, ahead);
  assert.equal(
    printed(rowsAt(500, 3, 'held')[0], 250),
    '     500 requests/s  3 s   p99 2.00 ms     held · about 4 min left',
  );
  assert.equal(
    printed(rowsAt(16_000, 30, 'not held', 'arrival p99 is above its limit')[0], 0),
    '  16,000 requests/s  30 s  p99 340 ms      not held: arrival p99 is above its limit',
  );
});

const SETTINGS = { CONFIRM: 30, LOWEST: 10, HIGHEST: 50_000, PRECISION: 0.05 };

/** The answer's lines after the first one. */
function details(held: number, notHeld: number | undefined, rows: Row[]): string[] {
  const answer = answerOf(rows, 100, { held, notHeld }, 'queue');
  const [, ...lines] = sentence(answer, rows, SETTINGS, 7).split('\n');
  return lines.map((text) => text.trim());
}

const holding = (rate: number) => [...rowsAt(rate, 3, 'held'), ...rowsAt(rate, 30, 'held')];

test('the answer states its certainty, or the setting that ended the search', () => {
  assert.deepEqual(details(400, undefined, holding(400)), [
    'no higher rate was tried: MINUTES ends the search there; about MINUTES=7 brings it to 5 % (PRECISION)',
  ]);
  assert.deepEqual(details(50_000, undefined, holding(50_000)), [
    'no higher rate was tried: HIGHEST ends the search there',
  ]);
  const sure = [...holding(400), ...rowsAt(410, 30, 'not held', 'slow', 2)];
  assert.deepEqual(details(400, 410, sure), [
    '410 requests/s (+2.5 %) held in 0 of 2 runs; bottleneck there: queue',
  ]);
  const unsure =
    'MINUTES ended the search before it was sure of that: the rate may be higher; about MINUTES=7 brings it to 5 % (PRECISION)';
  for (const [above, seconds] of [
    [410, 10],
    [500, 30],
  ] as const)
    assert.equal(
      details(400, above, [...holding(400), ...rowsAt(above, seconds, 'not held', 'slow', 2)]).at(-1),
      unsure,
    );
  const shared = details(400, 410, [...sure, ...rowsAt(410, 30, 'undecided', 'the hypervisor')]);
  assert.match(String(shared[0]), /held in 0 of 3 runs, 1 undecided; bottleneck/);
  assert.match(
    String(shared[1]),
    /^1 of 5 runs were undecided: .*; a machine that is not shared may hold more$/,
  );
});

test('a rate of undecided runs only is not one that did not hold', () => {
  const rows = [...holding(400), ...rowsAt(410, 30, 'undecided', 'the generator was late', 4)];
  const answer = answerOf(rows, 100, { held: 400, notHeld: 410 }, null);
  assert.deepEqual([answer.rate, answer.not_held, answer.undecided], [400, null, 410]);
  assert.match(
    details(400, 410, rows).join('\n'),
    /^410 requests\/s held in 0 of 4 runs, 4 undecided: the rate may be/,
  );
  const high = rowsAt(16_000, 30, 'undecided', 'the generator was late');
  assert.match(
    details(400, 16_000, [...holding(400), ...high]).join('\n'),
    /^16,000 requests\/s held in 0 of 1/,
  );
  assert.deepEqual(
    answerFigures(answer, rows).map(({ name }) => name),
    [
      'highest rate that held',
      'runs at 400 requests/s that held',
      'lowest rate that is undecided',
      'runs at 410 requests/s that held',
    ],
  );
  assert.deepEqual(probesOf(rows).at(-1), {
    rate: 410,
    seconds: 30,
    held: false,
    p99_ms: 340,
    undecided: true,
  });
});

test('a search without an answer says how many runs were undecided', () => {
  const rows = rowsAt(400, 30, 'undecided', 'the generator was late', 4);
  assert.match(
    sentence(answerOf(rows, 100, { held: 0, notHeld: 400 }, null), rows, SETTINGS, 7),
    /^capacity {2}none was confirmed: .*\n +MINUTES ended the search at 400 requests\/s, LOWEST is 10\n +4 of 4 runs were undecided/,
  );
  const all = rowsAt(10, 3, 'not held', 'slow', 2);
  assert.doesNotMatch(
    sentence(answerOf(all, 100, { held: 0, notHeld: 10 }, null), all, SETTINGS, 7),
    /MINUTES/,
  );
});
