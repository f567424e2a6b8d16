import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, Spans, SpansStage } from '../../contract/run.ts';
import { compare } from '../compare.ts';
import { type Condition, type ConditionError, judge, parseCondition } from '../conditions.ts';
import { comparisonMarkdown } from '../markdown.ts';
import type { Recording } from '../recording.ts';
import { grouped } from '../subjects.ts';
import { comparisonText } from '../text.ts';
import { waterfalls } from '../waterfall.ts';
import { simulated } from './simulated.ts';

const stage = (from: string, to: string, mean: number): SpansStage => ({
  ...{ from, to, mean, error: mean / 10, p50: mean, p99: 2 * mean, max: 3 * mean, bound: 0 },
});

const check = (condition: Condition, one: Recording) => judge(condition, [[one], [one]], false)[0];

/** A run of a pipeline without stamps, whose spans make stages that end at marks. */
function spanned(seed: number, ends: Record<string, number>): Recording {
  const made = simulated({ seed, median: 2, wander: 0.02, seconds: 20, samples: 60 });
  const names = ['due', ...Object.keys(ends)];
  const stages = Object.values(ends).map((mean, i) => stage(names[i] ?? '', names[i + 1] ?? '', mean));
  const whole = Object.values(ends).reduce((sum, mean) => sum + mean, 0);
  const spans: Pick<Spans, 'stages' | 'arrival'> = { stages, arrival: stage('due', 'arrived', whole) };
  for (const name of Object.keys(made.run.latency.stages)) delete made.run.latency.stages[name];
  Object.assign(made.run, { spans });
  return made;
}

const plain = (seed = 1) => spanned(seed, { sent: 0.1, received: 0.4, claimed: 6, arrived: 3.5 });
const slower = (seed = 2) => spanned(seed, { sent: 0.1, received: 0.4, claimed: 12, arrived: 3.2 });
const named = (runs: Recording[], name: string) => compare(runs).rows.find((row) => row.name === name);

test('stages by spans are compared, with the errors of the samples', () => {
  const row = named([plain(), slower()], 'spans.received-claimed.mean');
  assert.deepEqual(row?.values, [6, 12]);
  const [, difference] = row?.differences ?? [];
  assert.equal(difference?.relative, 1);
  assert.equal(difference?.interval, null);
  assert.equal(difference?.why, 'sampled, ±0.600 and ±1.20 ms; an interval needs repeats');
  assert.equal(named([plain(), slower()], 'spans.due-arrived.mean')?.values[1]?.toFixed(3), '15.700');
  for (const text of [comparisonText, comparisonMarkdown].map((write) =>
    write(compare([plain(), slower()])),
  )) {
    assert.match(text, /received → claimed mean.*×2\.0/);
    assert.match(
      text,
      /B against A: mean of sampled messages \+5\.70 ms: received → claimed \+6\.00, claimed → arrived −0\.300/,
    );
  }
});

test('repeats give stages by spans an interval', () => {
  const repeats = (of: (seed: number) => Recording, first: number) =>
    [0, 1, 2].map((i) => {
      const one = of(first + i);
      for (const claimed of one.run.spans?.stages.slice(2, 3) ?? [])
        claimed.mean = (claimed.mean ?? 0) * (1 + i / 100);
      one.run.run.labels = { variant: `${first}` };
      return one;
    });
  const { subjects, rows } = compare([...repeats(plain, 1), ...repeats(slower, 4)]);
  assert.equal(subjects.length, 2);
  const found = rows.find(({ name }) => name === 'spans.received-claimed.mean')?.differences[1];
  assert.equal(found?.word, 'worse');
  assert.equal(found?.interval?.from, '3 and 3 runs');
});

test('stages that end at other marks are not set against each other', () => {
  const other = spanned(3, { sent: 0.1, received: 0.4, queued: 2, claimed: 4, arrived: 3.5 });
  const both = compare([plain(), other]);
  const row = both.rows.find(({ name }) => name === 'spans.received-claimed.mean');
  assert.deepEqual(row?.values, [6, null]);
  assert.deepEqual(row?.differences, [null, null]);
  assert.deepEqual(waterfalls(both), []);
  assert.equal(
    both.rows.find(({ name }) => name === 'spans.sent-received.mean')?.differences[1]?.relative,
    0,
  );
});

test('a gate can ask for a stage by spans', () => {
  const [found] = judge(
    parseCondition('spans.received-claimed.mean > +50%'),
    grouped([plain(), slower()], true),
    false,
  );
  assert.equal(found?.result, 'exceeded');
  assert.equal(check(parseCondition('spans.received-claimed.p99 > 20ms'), slower())?.result, 'exceeded');
  assert.equal(check(parseCondition('spans.due-arrived.max > 1000ms'), slower())?.result, 'passed');
  const refused = (text: string, run?: Run): string => {
    try {
      const condition = parseCondition(text);
      if (run) check(condition, { ...plain(), run });
      return 'taken';
    } catch (error) {
      return (error as ConditionError).message;
    }
  };
  assert.match(
    refused('spans.claimed.mean > 1ms'),
    /not a stage between two marks of spans; allowed: spans\.queued-claimed\.mean/,
  );
  assert.match(refused('spans.a-b.p42 > 1ms'), /not a stage between two marks/);
  assert.match(
    refused('spans.queued-claimed.mean > 1ms', plain().run),
    /spans\.queued-claimed is not a measure of these runs; allowed: .*spans\.received-claimed, .*spans\.due-arrived/,
  );
});
