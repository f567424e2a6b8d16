import assert from 'node:assert/strict';
import { test } from 'node:test';
import { junit, summary } from '../ci.ts';
import vectors from '../ci.vectors.json' with { type: 'json' };
import { type GOLDENS, golden } from './goldens.ts';

for (const vector of vectors) {
  test(`junit.xml and summary.md of the run ${vector.run} are what k6 writes`, () => {
    const run = Object.assign(golden(vector.run as (typeof GOLDENS)[number]), vector.change);
    assert.deepEqual(junit(run).split('\n'), vector.junit);
    assert.deepEqual(summary(run).split('\n'), vector.summary);
  });
}

test('a limit that was not judged is neither held nor crossed', () => {
  const run = golden('passing');
  const rule = {
    name: 'm',
    value: null,
    op: '<',
    limit: 1,
    unit: '',
    result: 'fail',
    basis: '',
    reason: '',
  } as const;
  run.verdict.rules = [{ ...rule, ok: null }];
  assert.match(junit(run), /tests="2" failures="0" errors="0" skipped="1"/);
  assert.match(summary(run), /\| m \| &lt; 1 \| n\/a \| not judged \|/);
});

test('an instrument that can not be trusted is an error, not a failure of what was tested', () => {
  const run = golden('gap');
  assert.match(junit(run), /<error message="invalid" type="invalid">/);
});

test('a percentile stands there only where enough samples do', () => {
  const run = golden('passing');
  Object.assign(run.latency.arrival, { count: 99, mean: 1, p50: 1, p95: 2, p99: 3, max: 3 });
  assert.match(summary(run), /\| \*\*arrival\*\* \| 1\.00 \| 1\.00 \| 2\.00 \| n\/a \| 3\.00 \| 99 \|/);
});
