import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { clock, count, duration, ms, rate } from '../lib/words.js';

const vectors: Record<string, [unknown, string][]> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../reports/contract/words.vectors.json'), 'utf8'),
);

for (const [kind, write] of Object.entries({ count, ms, rate, duration, moment: clock })) {
  test(`a script writes a ${kind} as Go does`, () => {
    // No script has a number so large that it needs an exponent.
    const own = vectors[kind]?.filter(([, want]) => !want.includes('e+')) ?? [];
    assert.notEqual(own.length, 0);
    for (const [given, want] of own) {
      const all = (Array.isArray(given) ? given : [given]) as [never, never];
      assert.equal((write as (...given: never[]) => string)(...all), want, `${kind} of ${given}`);
    }
  });
}
