import assert from 'node:assert/strict';
import { test } from 'node:test';
import { golden } from '../../../reports/test/goldens.ts';
import { textOf } from '../text.ts';

test('figures are written out, however long a message took', () => {
  const run = golden('passing');
  Object.assign(run.latency.arrival, { p50: 0.0123, p95: 45.67, p99: 1234.6, max: 123_456 });
  assert.match(textOf(run), /^ {2}arrival {5}p50 0\.012 · p95 45\.7 · p99 1,235 · max 123,456 ms {3}from /m);
  assert.match(textOf(run), /^ {2}account {5}89,300 scheduled = 0 dropped \+ /m);
});

// Escape sequences in a name reached the terminal as they were.
test('a terminal gets nothing to obey', () => {
  const run = golden('passing');
  run.run.name = 'red\u001b[31m';
  run.verdict.reasons = ['it said\n\n  PASS', 'end\u202e'];
  const text = textOf(run);
  assert.match(text, /red\\u001b\[31m\n {14}it said\\n\\n {2}PASS\n {14}end\\u202e\n/);
  assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|\u202e/u);
});

test('a percentile stands there where enough samples do', () => {
  const run = golden('passing');
  run.latency.http.count = 99;
  assert.match(textOf(run), /^ {2}HTTP {8}p50 \S+ · p95 \S+ · p99 n\/a · max \S+ ms {3}from 99 requests$/m);
});

test('an account that does not balance has no latency, and no equals sign', () => {
  const text = textOf(golden('unbalanced'));
  assert.match(text, /2,470 scheduled ≠ 0 dropped/);
  assert.match(text, /latency {5}not shown: the account does not balance/);
  assert.doesNotMatch(text, /\bp\d\d/);
});

test('in the closed model, from send would be arrival again', () => {
  assert.doesNotMatch(textOf(golden('closed')), /from send/);
});
