import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { compare } from '../compare.ts';
import { turns } from '../knees.ts';
import type { Recording } from '../recording.ts';
import { comparisonText } from '../text.ts';

/** A sweep over 1, 4, 16 and 32 VUs with these p50s, this knee and this queue. */
function sweep(p50s: number[], knee: Run['knee'], queue = 'stream'): Recording {
  const run = golden('closed');
  const measured = run.steps.filter((step) => step.measured);
  for (const [i, step] of measured.entries()) step.latency.arrival.p50 = p50s[i] ?? null;
  run.knee = knee;
  run.environment.pipeline = { queue, node: '24' };
  return { run, histograms: new Map() };
}

const kneeAt = (vus: number, next: number, stage: 'request' | 'queue') => ({ vus, next, stage });

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

test('the text states the knee and stage of each sweep, and how far apart the knees are', () => {
  const comparison = compare([
    sweep([1, 1, 2, 20], kneeAt(16, 32, 'request')),
    sweep([1, 9, 40, 90], kneeAt(1, 4, 'queue'), 'list'),
  ]);
  assert.deepEqual(
    comparison.subjects.map(({ title, knee }) => [title, knee]),
    [
      ['queue stream', { vus: 16, p50: 2, next: 32, stage: 'request' }],
      ['queue list', { vus: 1, p50: 1, next: 4, stage: 'queue' }],
    ],
  );
  const expected = [
    'A: knee at 16 VUs, arrival p50 2.00 ms there; from 32 VUs on it stays high; request has grown most.',
    'B: knee at 1 VU, arrival p50 1.00 ms there; from 4 VUs on it stays high; queue has grown most.',
    'B against A: turns 15 VUs earlier; with 4 VUs arrival p50 is 1.00 ms → 9.00 ms; what grows is request → queue.',
  ];
  assert.deepEqual(turns(comparison.subjects).map(plain), expected);
  for (const line of expected) assert.ok(comparisonText(comparison).includes(`sweep       ${line}`), line);
});

test('the text says if a sweep begins beyond its knee', () => {
  const behind = sweep([2033, 6197, 11_280, 7733], kneeAt(0, 1, 'queue'), 'list');
  assert.deepEqual(
    turns(compare([sweep([1, 1, 2, 20], kneeAt(16, 32, 'request')), behind]).subjects)
      .map(plain)
      .slice(1),
    [
      'B: knee below 1 VU: with 1 a backlog already grows, and queue takes longest.',
      'B against A: turns earlier; with 1 VU arrival p50 is 1.00 ms → 2,033 ms; what grows is request → queue.',
    ],
  );
});

test('a sweep without a knee states its last step; a run that is not a sweep has no text', () => {
  const flat = sweep([1, 1, 1, 2], null);
  const early = kneeAt(1, 4, 'queue');
  assert.deepEqual(turns(compare([flat, sweep([1, 9, 9, 9], early, 'list')]).subjects).map(plain), [
    'A has no knee up to 32 VUs.',
    'B: knee at 1 VU, arrival p50 1.00 ms there; from 4 VUs on it stays high; queue has grown most.',
    'B against A: only B has a knee.',
  ]);
  assert.equal(turns(compare([flat, flat]).subjects).at(-1), 'B against A: neither has a knee.');
  const same = compare([sweep([1, 9, 9, 9], early), sweep([1, 8, 9, 9], early)]).subjects;
  assert.match(
    plain(turns(same).at(-1) ?? ''),
    /^B against A: both turn at the same step; with 4 VUs arrival p50 is 9\.00 ms → 8\.00 ms\.$/,
  );
  const open = { run: golden('passing'), histograms: new Map() };
  assert.deepEqual(turns(compare([open, open]).subjects), []);
});

test('repeats have the median knee', () => {
  const repeats = [kneeAt(16, 32, 'queue'), null, kneeAt(1, 4, 'queue')].map((knee) =>
    sweep([1, 1, 2, 20], knee),
  );
  const [subject] = compare([...repeats, sweep([1, 1, 2, 20], null, 'list')]).subjects;
  assert.deepEqual(subject?.knee, { ...kneeAt(16, 32, 'queue'), p50: 2 });
});
