import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden } from '../../test/goldens.ts';
import { compare } from '../compare.ts';
import { turns } from '../knees.ts';
import type { Recording } from '../recording.ts';
import { comparisonText } from '../text.ts';

/** A sweep over 1, 4, 16 and 32 VUs with these p50s, on a pipeline with such a queue. */
function sweep(p50s: number[], queue = 'stream'): Recording {
  const run = golden('closed');
  const measured = run.steps.filter((step) => step.measured);
  for (const [i, step] of measured.entries()) step.latency.arrival.p50 = p50s[i] ?? null;
  for (const step of run.steps) for (const stage of Object.values(step.latency.stages)) stage.mean = 1;
  const after = measured[p50s.findIndex((p50) => p50 > 5)];
  if (after) after.latency.stages[queue === 'list' ? 'queue' : 'request'].mean = 50;
  run.environment.pipeline = { queue, node: '24' };
  return { run, histograms: new Map() };
}

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

test('two sweeps: the knee of each with its stage, and how far apart they are', () => {
  const comparison = compare([sweep([1, 1, 2, 20]), sweep([1, 9, 40, 90], 'list')]);
  assert.deepEqual(
    comparison.subjects.map(({ title, knee }) => [title, knee]),
    [
      ['queue stream', { vus: 16, p50: 2, next: 32, stage: 'request' }],
      ['queue list', { vus: 1, p50: 1, next: 4, stage: 'queue' }],
    ],
  );
  const told = [
    'A: knee at 16 VUs, arrival p50 2.00 ms there; with 32 it has taken off for good, and request has grown most.',
    'B: knee at 1 VU, arrival p50 1.00 ms there; with 4 it has taken off for good, and queue has grown most.',
    'B against A: turns 15 VUs earlier; with 4 VUs arrival p50 is 1.00 ms → 9.00 ms; what grows is request → queue.',
  ];
  assert.deepEqual(turns(comparison.subjects).map(plain), told);
  for (const line of told) assert.ok(comparisonText(comparison).includes(`sweep       ${line}`), line);
});

test('a sweep that begins beyond its knee says so', () => {
  const behind = sweep([2033, 6197, 11_280, 7733], 'list');
  for (const step of behind.run.steps) Object.assign(step, { scheduled: 1000, backlog: 310 });
  const first = behind.run.steps.find(({ vus, measured }) => vus === 1 && measured);
  assert.ok(first);
  first.latency.stages.queue.mean = 2000;
  assert.deepEqual(
    turns(compare([sweep([1, 1, 2, 20]), behind]).subjects)
      .map(plain)
      .slice(1),
    [
      'B: knee below 1 VU: with 1 a backlog grows already, and queue takes longest.',
      'B against A: turns earlier; with 1 VU arrival p50 is 1.00 ms → 2,033 ms; what grows is request → queue.',
    ],
  );
});

test('a sweep that does not turn says how far it went; what is no sweep says nothing', () => {
  const flat = sweep([1, 1, 1, 2]);
  assert.deepEqual(turns(compare([flat, sweep([1, 9, 9, 9], 'list')]).subjects).map(plain), [
    'A has no knee up to 32 VUs.',
    'B: knee at 1 VU, arrival p50 1.00 ms there; with 4 it has taken off for good, and queue has grown most.',
    'B against A: only B turns.',
  ]);
  assert.equal(turns(compare([flat, flat]).subjects).at(-1), 'B against A: neither turns.');
  const same = compare([sweep([1, 9, 9, 9]), sweep([1, 8, 9, 9])]).subjects;
  assert.match(
    plain(turns(same).at(-1) ?? ''),
    /^B against A: both turn at the same step; with 4 VUs arrival p50 is 9\.00 ms → 8\.00 ms\.$/,
  );
  const open = { run: golden('passing'), histograms: new Map() };
  assert.deepEqual(turns(compare([open, open]).subjects), []);
});
