import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InDoubt, Rule, Run } from '../../contract/run.ts';
import { compare } from '../compare.ts';
import type { Judgement } from '../comparison.ts';
import { type Condition, judge, parseCondition } from '../conditions.ts';
import { differenceOf } from '../differences.ts';
import { isUndecided, isUnusable, reachOf } from '../doubts.ts';
import { type Measure, measureOf } from '../measures.ts';
import type { Recording } from '../recording.ts';
import { comparisonText } from '../text.ts';
import { simulated } from './simulated.ts';

const P99 = measureOf('arrival.p99') as Measure;
const P50 = measureOf('arrival.p50') as Measure;
const HTTP = measureOf('http.p99') as Measure;

const doubt = (claim: InDoubt['claim'], direction: InDoubt['direction'], by = 'lateness'): InDoubt => ({
  ...{ claim, direction, by: [by], text: `${by} was broken` },
});

/** A run with doubts about its claims. */
function doubted(
  seed: number,
  median: number,
  doubts: InDoubt[],
  change: (run: Run) => void = () => {},
): Recording {
  const made = simulated({ seed, median, wander: 0.02, seconds: 20, samples: 150 });
  made.run.facts.doubts = doubts;
  change(made.run);
  return made;
}

/** Sets what a run's limit on arrival p99 says of its readings, as shares of the figure. */
function readings(run: Run, least: number, most: number): void {
  const p99 = run.latency.arrival.p99 as number;
  const rule = run.verdict.rules?.find(({ name }) => name === 'arrival_p99') as Rule;
  Object.assign(rule, { at_least: p99 * least, at_most: p99 * most, doubted_by: ['lateness'] });
}

/** The judgement of a condition that asks for no difference. */
const check = (condition: Condition, one: Recording) =>
  judge(condition, [[one], [one]], false)[0] as Judgement;
const word = (a: Recording, b: Recording, measure = P99) => differenceOf([a], [b], measure)?.word;
const result = (text: string, a: Recording, b: Recording) =>
  judge(parseCondition(text), [[a], [b]], false)[0];

test('a figure reaches as far as the readings of its limit, else as its doubt says', () => {
  const { run } = doubted(1, 2, [doubt('arrival', 'too_high')]);
  assert.deepEqual(reachOf(run, P99), { least: 0, most: 1, by: ['lateness'] });
  assert.deepEqual(reachOf(run, HTTP), { least: 1, most: 1, by: [] });
  readings(run, 0.5, 1);
  assert.equal(reachOf(run, P99).least, 0.5);
  assert.equal(reachOf(run, P50).least, 0, 'the readings are those of p99');
  const share = measureOf('arrival.within(4ms)') as Measure;
  const { least, most } = reachOf(run, share);
  assert.equal(least, 1, 'latencies that are too high make a share too low');
  assert.ok(most > 1);
});

test('a difference inside the doubt is undecided, with its cause', () => {
  const [a, b] = [doubted(1, 2, []), doubted(2, 3, [doubt('arrival', 'too_high')])];
  assert.equal(word(a, doubted(2, 3, [])), 'worse');
  const found = differenceOf([a], [b], P99);
  assert.equal(found?.word, 'undecided');
  assert.match(found?.why ?? '', /doubt \(lateness\) is wider/);
  readings(b.run, 0.98, 1);
  assert.equal(word(a, b), 'worse', 'it is slower by the least reading too');
  assert.equal(word(a, b, HTTP), 'worse', 'which is not in doubt');
});

test('a figure that is at most so high is better where it is lower', () => {
  const late = [doubt('arrival', 'too_high')];
  assert.equal(word(doubted(1, 3, []), doubted(2, 2, late)), 'better');
  assert.equal(word(doubted(1, 3, late), doubted(2, 2, [])), 'undecided', 'the baseline may be as fast');
});

test('a large difference without an interval is named, unless the doubt is larger', () => {
  const brief = (seed: number, median: number, doubts: InDoubt[] = []) => {
    const made = simulated({ seed, median, seconds: 3 });
    made.run.facts.doubts = doubts;
    return made;
  };
  const found = differenceOf([brief(1, 2)], [brief(2, 1800)], P99);
  assert.deepEqual([found?.interval, found?.word], [null, 'worse']);
  assert.match(found?.why ?? '', /too short/);
  assert.equal(word(brief(1, 2), brief(2, 3)), 'undecided', 'so small a difference may be noise');
  assert.equal(word(brief(1, 2), brief(2, 1800, [doubt('arrival', 'too_high')])), 'undecided');
  assert.equal(word(brief(1, 1800), brief(2, 2, [doubt('arrival', 'too_high')])), 'better');
});

test('an undecided run is compared, an unusable one is not', () => {
  const invalid = (run: Run) => Object.assign(run.verdict, { result: 'invalid' });
  const late = doubted(2, 3, [doubt('arrival', 'too_high')], invalid);
  assert.ok(isUndecided(late.run));
  const { subjects, rows } = compare([doubted(1, 2, []), late]);
  assert.equal(subjects[1]?.obstacle, null);
  assert.match(comparisonText(compare([doubted(1, 2, []), late])), /^B .* · undecided$/m);
  assert.equal(rows.find(({ name }) => name === 'http.p99')?.differences[1]?.word, 'worse');
  const nothing = (['arrival', 'http', 'stages', 'account', 'load', 'samples'] as const).map((claim) =>
    doubt(claim, 'either', 'balanced'),
  );
  assert.ok(isUnusable(doubted(3, 2, nothing, invalid).run));
  assert.equal(
    compare([doubted(1, 2, []), doubted(3, 2, nothing, invalid)]).subjects[1]?.obstacle,
    'not comparable: run is invalid',
  );
});

test('a condition is decided by the worst and the best reading of a figure in doubt, or undecided', () => {
  const late = doubted(2, 2, [doubt('arrival', 'too_high')], (run) => readings(run, 0.5, 1));
  const p99 = late.run.latency.arrival.p99 as number;
  const checked = (limit: number) =>
    check(parseCondition(`arrival.p99 > ${limit.toFixed(3)}ms`), late).result;
  assert.equal(checked(p99 * 1.1), 'passed', 'its highest reading is below');
  assert.equal(checked(p99 * 0.4), 'exceeded', 'its lowest reading is above');
  assert.equal(checked(p99 * 0.8), 'undecided');
  const { detail } = check(parseCondition(`arrival.p99 > ${(p99 * 0.8).toFixed(3)}ms`), late);
  assert.match(detail, /^between [\d.]+ ms and [\d.]+ ms \(in doubt: lateness\)$/);
});

test('a condition on a difference is decided by the readings of both figures, or undecided', () => {
  const a = doubted(1, 2, []);
  const late = doubted(2, 3, [doubt('arrival', 'too_high')]);
  assert.equal(result('arrival.p99 > +10%', a, doubted(2, 3, []))?.result, 'exceeded');
  assert.equal(result('arrival.p99 > +10%', a, late)?.result, 'undecided');
  assert.equal(result('arrival.p99 > +100%', a, late)?.result, 'passed', 'its highest reading is below');
  readings(late.run, 0.98, 1);
  assert.equal(result('arrival.p99 > +10%', a, late)?.result, 'exceeded', 'its lowest reading is above');
  assert.equal(result('arrival.p99 > +1ms', a, late)?.result, 'exceeded');
  assert.equal(result('http.p99 > +10%', a, late)?.result, 'exceeded', 'which is not in doubt');
});

test('a loss that may be the subscriber’s is undecided', () => {
  const gap = doubted(1, 2, [doubt('account', 'too_high', 'gaps')], ({ account }) => {
    account.lost = 3;
    account.arrived -= 3;
  });
  assert.equal(check(parseCondition('account.lost > 0'), gap).result, 'undecided');
  assert.equal(check(parseCondition('account.lost > 5'), gap).result, 'messages failed');
});

test('nothing lost is as undecided as something lost where the account may be wrong either way', () => {
  const either = (seed: number, lost: number) =>
    doubted(seed, 2, [doubt('account', 'either', 'gaps')], ({ account }) => {
      account.lost = lost;
      account.arrived -= lost;
    });
  for (const lost of [3, 0]) {
    const { result, detail } = check(parseCondition('account.lost > 0'), either(1, lost));
    assert.deepEqual([result, detail], ['undecided', 'at least 0 (in doubt: gaps)']);
    assert.equal(
      judge(parseCondition('account.lost > +5'), [[either(1, 0)], [either(2, lost)]], false)[0]?.detail,
      'any value (in doubt: gaps)',
    );
  }
});

test('a difference whose baseline is too low has no lower end, a share of 0 ends at 100 %', () => {
  const low = [doubt('arrival', 'too_low')];
  const { result: found, detail } = result('arrival.p99 > -1ms', doubted(1, 2, low), doubted(2, 3, [])) ?? {};
  assert.equal(found, 'undecided');
  assert.match(detail ?? '', /^at most \+[\d.]+ ms \(in doubt: lateness\)$/);
  const none = doubted(3, 900, [doubt('arrival', 'too_high')]);
  const within = check(parseCondition('arrival.within(1ms) < 50%'), none);
  assert.deepEqual(
    [within.result, within.detail],
    ['undecided', 'between 0 % and 100 % (in doubt: lateness)'],
  );
});
