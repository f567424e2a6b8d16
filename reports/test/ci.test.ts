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
