import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { printable } from './printable.ts';

test('printable escapes control characters', () => {
  const vectors = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../reports/contract/printable.vectors.json'), 'utf8'),
  );
  for (const [text, want] of vectors) assert.equal(printable(text), want);
});
