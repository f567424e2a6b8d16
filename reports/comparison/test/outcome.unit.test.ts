import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden } from '../../test/goldens.ts';
import { compare } from '../compare.ts';
import { BETTER_FAILED, type Comparison, type Difference, type Row } from '../comparison.ts';
import { comparisonMarkdown } from '../markdown.ts';
import { gateOf, outcomes, rowsOf } from '../outcome.ts';
import { axisOf, placeOf } from '../page/axis.ts';
import { comparisonText } from '../text.ts';
import { accountsOf, detail, finding, range, times } from '../words.ts';

/** Two identical runs; each test sets the figures. */
const MODEL = compare([1, 2].map(() => ({ run: golden('passing'), histograms: new Map() })));

function difference(
  word: Difference['word'],
  ratio: number,
  reach = 0.1,
  why: string | null = null,
): Difference {
  const end = (sign: number) => Math.expm1(Math.log(ratio) + sign * reach);
  const interval =
    why === null || why === BETTER_FAILED ? { low: end(-1), high: end(1), from: 'test' } : null;
  return { absolute: ratio - 1, relative: ratio - 1, interval, why, word };
}

function comparison(found: Record<string, Difference>, change: Partial<Comparison> = {}): Comparison {
  const rows = Object.entries(found).map(
    ([name, one]): Row => ({
      name,
      kind: name.startsWith('rate') ? 'rate' : 'latency',
      values: [1, 1 + (one.relative ?? 0)],
      differences: [null, one],
    }),
  );
  return { ...MODEL, rows, ...change };
}

const sentence = (compared: Comparison) => outcomes(compared)[0]?.sentence.replaceAll('\u00a0', ' ') ?? '';
/** An interval far too wide to decide. */
const noise = difference('undecided', 1.1, 0.4);

test('the sentence lists decided figures with ratios, then undecided ones with reason and remedy', () => {
  const compared = comparison({
    'arrival.p50': noise,
    'arrival.p99': noise,
    'ingest.mean': { ...difference('worse', 30), absolute: 0.001 },
    'relay.mean': { ...difference('worse', 20), absolute: 5 },
  });
  assert.match(
    sentence(compared),
    / is much slower: relay 1\.00 → 20\.0 ms, ×20; p50 \(×1\.10\) and p99 \(×1\.10\) undecided: too noisy, repeat 3 times$/,
  );
  assert.doesNotMatch(sentence(compared), /ingest/, 'only the stage with the largest difference');
  assert.equal(outcomes(compared)[0]?.tone, 'worse');
  for (const text of [comparisonText(compared), comparisonMarkdown(compared)])
    assert.ok(text.split('\n')[0]?.includes('ms, ×20; p50 (×1.10) and p99 (×1.10) undecided'), text);
});

// Regression: of a pipeline of one's own without stamps the sentence named no stage, and did not say why.
test('a slower pipeline without stages says that the stage is not known, and what shows it', () => {
  const slower = comparison({ 'arrival.p99': difference('worse', 3) });
  const without = slower.subjects.map((one) => ({
    ...one,
    stages: { schedule: 1, request: null },
    spans: {},
  }));
  const says = /in which stage is not known: .*SPANS/;
  assert.match(sentence({ ...slower, subjects: without }), says);
  assert.doesNotMatch(sentence(slower), says, 'the runs have stages');
  const spans = without.map((one) => ({ ...one, spans: { 'sent-received': 1, 'received-arrived': 2 } }));
  assert.doesNotMatch(sentence({ ...slower, subjects: spans }), says);
  const equal = comparison({ 'arrival.p99': difference('equal', 1) }, { subjects: without });
  assert.doesNotMatch(sentence(equal), says);
});

test('each reason for an undecided figure has a remedy', () => {
  const answer = (p50: Difference, p99: Difference) =>
    sentence(comparison({ 'arrival.p50': p50, 'arrival.p99': p99 }));
  const short = difference('undecided', 6.74, 0, 'the run is too short: 60 s, for how alike its seconds are');
  const survived = difference('undecided', 0.5, 0.1, BETTER_FAILED);
  // Regression: "×6.74, undecided: too short" for the figure that explained everything.
  assert.match(
    answer(noise, short),
    /p50 \(×1\.10\) undecided: too noisy; p99 \(×6\.7\) without an interval: the run is too short, repeat 3 times$/,
  );
  assert.deepEqual([finding(short), detail(short)], ['no interval', 'the run is too short']);
  assert.match(answer(survived, survived), /p50 and p99 undecided: messages .* failed, fix that first/);
});

// Regression: a run of a few seconds that was 916 times slower was grey, "no interval".
test('a large difference is named without an interval, and which run is better comes first', () => {
  const short = 'the run is too short: 20 s, for how alike its seconds are';
  const slower = { ...difference('worse', 916, 0, short), absolute: 4016 };
  const compared = comparison({ 'arrival.p99': slower });
  (compared.rows[0] as Row).values = [4.39, 4020];
  assert.match(
    sentence(compared),
    /^B \(.*\) is much slower: p99 4\.39 → 4,020 ms, ×916; too short for an interval, repeat 3 times$/,
  );
  assert.equal(outcomes(compared)[0]?.tone, 'worse');
  assert.deepEqual([finding(slower), detail(slower)], ['much worse, no interval', 'the run is too short']);
});

test('what repeats gain is said where it is computed', () => {
  const after = (more: number) => sentence(comparison({ 'arrival.p99': { ...noise, more } }));
  assert.match(
    after(3),
    /p99 \(×1\.10\) undecided: too noisy, 3 more runs of each would decide it, if runs differ as little as their seconds$/,
  );
  assert.match(after(0), /even 20 more runs of each may not decide it$/);
  const both = comparison({ 'arrival.p50': { ...noise, more: 2 }, 'arrival.p99': { ...noise, more: 7 } });
  assert.match(
    sentence(both),
    /p50 \(×1\.10\) and p99 \(×1\.10\) undecided: too noisy, 7 more runs of each/,
    'the most that any needs',
  );
});

test('figures that disagree leave open which run is better', () => {
  const mixed = comparison({
    'arrival.p50': difference('better', 0.5),
    'arrival.p99': difference('worse', 2),
  });
  assert.match(sentence(mixed), /^B \([^)]*\): p99 .*×2\.00 worse; p50 .*×0\.50 better/);
});

test('the sentence asks for twice as many repeats if too noisy, and for repeats of single runs', () => {
  const repeats = MODEL.subjects.map((subject) => ({
    ...subject,
    runs: [1, 2, 3].flatMap(() => subject.runs),
  }));
  assert.match(
    sentence(comparison({ 'arrival.p99': noise }, { subjects: repeats })),
    /too noisy, repeat 6 times$/,
  );
  const better = { 'arrival.p50': difference('equal', 1.01, 0.01), 'arrival.p99': difference('better', 0.5) };
  const once = comparison(better);
  assert.match(
    sentence(once),
    / is faster: p99 1\.00 → 0\.500 ms, ×0\.50; p50 equal within 2(\.\d)? %; one run each: repeat 3 times/,
  );
  assert.equal(outcomes(once)[0]?.tone, 'better');
  assert.doesNotMatch(sentence(comparison(better, { subjects: repeats })), /repeat/);
});

test('failed messages come first, and an obstacle has a remedy', () => {
  const [a, b] = MODEL.subjects as [Comparison['subjects'][0], Comparison['subjects'][0]];
  const changed = (change: Partial<typeof b>) =>
    comparison({ 'arrival.p99': difference('better', 0.5) }, { subjects: [a, { ...b, ...change }] });
  const failed = changed({ failed: '3 lost' });
  assert.match(sentence(failed), /\): 3 lost; p99 1\.00 → 0\.500 ms, ×0\.50 better/);
  assert.equal(outcomes(failed)[0]?.tone, 'worse');
  const slower = comparison(
    { 'arrival.p99': difference('worse', 5) },
    { subjects: [a, { ...b, failed: '3 lost' }] },
  );
  assert.match(sentence(slower), / is much slower: 3 lost; p99 1\.00 → 5\.00 ms, ×5/);
  assert.match(
    sentence(changed({ obstacle: 'not comparable: other load: 1,500 | 500 requests/s' })),
    /same load/,
  );
  assert.match(sentence(changed({ obstacle: 'not comparable: run is invalid' })), /repeat it$/);
});

test('the gate has the worst result of its conditions', () => {
  const gate = (...results: NonNullable<Comparison['conditions']>[0]['result'][]) =>
    gateOf({
      ...MODEL,
      conditions: results.map((result, i) => ({
        condition: `c${i} > ${i}`,
        subject: 'B',
        result,
        detail: `${i}`,
      })),
    });
  assert.equal(gate(), null);
  assert.match(gate('passed', 'passed')?.sentence ?? '', /^ok\b/);
  assert.match(
    gate('passed', 'not judged', 'exceeded')?.sentence ?? '',
    /^exceeded: 1 of 3 .*B: c2 is 2 \(fails if > 2\)$/,
  );
  assert.match(gate('passed', 'not judged')?.sentence ?? '', /^not judged/);
  assert.match(gate('not judged', 'messages failed')?.sentence ?? '', /^messages failed/);
});

test('rows keep their order whatever came out, and an undecided row states the detectable difference', () => {
  const all = comparison({
    'arrival.p50': noise,
    'arrival.p90': difference('equal', 1, 0.02),
    'arrival.p99': difference('worse', 1.5),
    'http.p50': difference('better', 0.5),
  });
  assert.deepEqual(
    rowsOf(all.rows, 1).map(({ name }) => name),
    ['arrival.p50', 'arrival.p90', 'arrival.p99', 'http.p50'],
  );
  const words = rowsOf(all.rows, 1).map(({ differences }) => {
    const one = differences[1] ?? null;
    return [finding(one), detail(one)].map((text) => text.replaceAll('\u00a0', ' '));
  });
  assert.deepEqual(words, [
    // exp(0.4) · 1.01
    ['undecided', 'only a change of ±51 % or more would show'],
    ['equal within 2.1 %', ''],
    ['worse', ''],
    ['better', ''],
  ]);
  assert.match(detail(difference('undecided', 1, 3)), /×20 or more would show$/);
  // Regression: two runs of each had "only a change of ×347,981,810 or more would show".
  assert.equal(detail(difference('undecided', 1, 20)), 'not even a change of ×100 would show');
});

test('ratios are rounded to a few digits, ratios of shares to four decimals', () => {
  const texts = [20.4, 9.96, 1.2, 1, 0.5, 0.0512, 12_345].map((ratio) => times(ratio));
  assert.deepEqual(texts, ['×20', '×10', '×1.20', '×1.00', '×0.50', '×0.051', '×12,345']);
  assert.equal(times(0.99834, 'share'), '×0.9983');
});

// Regression: ×0.0000000000000019 … ×155,786,394,161,940
test('an interval that says nothing has no digits', () => {
  assert.equal(range(difference('undecided', 1.1, 30), 'latency'), '< ×0.000001 … > ×1,000,000');
  assert.equal(range(difference('worse', 1500, 0.1), 'latency'), '×1,357 … ×1,658');
});

test('the axis is logarithmic around ×1 and reaches at least from ×0.5 to ×2', () => {
  const { reach, ticks } = axisOf([difference('equal', 1, 0.01)]);
  assert.deepEqual([reach, ticks.map(({ at }) => at)], [2, [0, 50, 100]]);
  assert.equal(axisOf([difference('worse', 3)]).reach, 5);
  assert.equal(axisOf([difference('better', 0.05)]).reach, 100);
  assert.equal(axisOf([difference('worse', 1e9)]).reach, 1000);
  const far = axisOf([difference('worse', 20)]).ticks.map(({ at }) => at);
  assert.deepEqual(
    far,
    [...far].sort((a, b) => a - b),
  );
  assert.equal(placeOf(0.5, 2) + placeOf(2, 2), 100);
  assert.equal(placeOf(1e9, 1000), 100, 'a ratio beyond the axis is placed at its end');
});

test('accounts are shown per run only if they differ', () => {
  assert.equal(accountsOf(MODEL.subjects).length, 1);
  const [a, b] = MODEL.subjects as [Comparison['subjects'][0], Comparison['subjects'][0]];
  const lost = { ...b, account: { ...b.account, arrived: b.account.arrived - 1, lost: 1 } };
  assert.equal(accountsOf([a, lost]).length, 2);
});

// Regression: fifteen rows said "no interval: the run is too short", one by one.
test('the differences of two undecided runs without an interval are refused in one line', () => {
  const short = difference('undecided', 1.1, 0.1, 'the run is too short');
  const rows = { 'arrival.p50': short, 'arrival.p99': short };
  const undecided = (which: readonly number[]) =>
    MODEL.subjects.map((subject, i) => ({
      ...subject,
      runs: subject.runs.map((run) => (which.includes(i) ? { ...run, undecided: true as const } : run)),
    }));
  const both = comparison(rows, { subjects: undecided([0, 1]) });
  for (const text of [comparisonText(both), comparisonMarkdown(both)]) {
    assert.match(text, /^B against A: both are undecided, .*\(the run is too short\)/m);
    assert.doesNotMatch(text, /^(\| )?arrival p99/m);
  }
  const decided = { ...rows, 'arrival.p99': difference('worse', 2) };
  for (const shown of [
    comparison(rows, { subjects: undecided([1]) }),
    comparison(decided, { subjects: undecided([0, 1]) }),
  ]) {
    for (const text of [comparisonText(shown), comparisonMarkdown(shown)])
      assert.match(text, /^(\| )?arrival p99/m);
  }
});
