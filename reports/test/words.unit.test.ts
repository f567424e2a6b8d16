import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as page from '../format.ts';

type Write = (...given: never[]) => string;

const vectors: Record<string, [unknown, string][]> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../contract/words.vectors.json'), 'utf8'),
);

const PAGE: Record<string, Write> = {
  count: page.count,
  ms: page.ms,
  figure: page.compact,
  exact: page.exact,
  against: page.against,
  share: page.percent,
  change: page.changeText,
  change_against: page.changeAgainst,
  rate: page.rate,
  duration: page.duration,
  moment: page.clock,
};

test('the page has a function for each kind of number', () => {
  assert.deepEqual(Object.keys(vectors), Object.keys(PAGE));
});

for (const [kind, write] of Object.entries(PAGE)) {
  test(`the page writes a ${kind} as Go does`, () => {
    for (const [given, want] of vectors[kind] ?? []) {
      const all = (Array.isArray(given) ? given : [given]) as never[];
      assert.equal(page.plain(write(...all)), want, `${kind} of ${given}`);
    }
  });
}

test('what is not known is a dash on the page', () => {
  for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const write of [page.count, page.ms, page.figure, page.compact, page.percent]) {
      assert.equal(write(value), '–');
    }
  }
  assert.equal(page.against(null, 1, '%'), '–');
  assert.equal(page.duration(Number.NaN), '–');
});
