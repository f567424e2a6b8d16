import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '../contract/run.ts';
import { readingsText, stateOf } from '../rules.ts';

const RULE: Rule = {
  name: 'arrival_p99',
  value: 300,
  op: '<',
  limit: 250,
  unit: 'ms',
  ok: null,
  result: 'fail',
  basis: '',
  reason: '',
  part: 'pipeline',
};

test('a rule is held, did not hold, undecided, in doubt or not judged', () => {
  assert.equal(stateOf({ ...RULE, ok: true }), 'held');
  assert.equal(stateOf({ ...RULE, ok: false }), 'did not hold');
  assert.equal(stateOf({ ...RULE, ok: false, result: 'doubt' }), 'in doubt');
  assert.equal(stateOf({ ...RULE, undecided: true }), 'undecided');
  assert.equal(stateOf(RULE), 'not judged');
});

test('a figure in doubt has the readings that it lies between', () => {
  const doubted = { ...RULE, doubted_by: ['lateness'] };
  assert.equal(readingsText({ ...doubted, at_least: 10, at_most: 310 }), 'between 10 and 310 ms');
  assert.equal(readingsText({ ...doubted, at_most: 310 }), 'at most 310 ms');
  assert.equal(readingsText({ ...doubted, at_least: 10 }), 'at least 10 ms');
  assert.equal(readingsText(doubted), 'any value');
  assert.equal(readingsText(RULE), '');
});
