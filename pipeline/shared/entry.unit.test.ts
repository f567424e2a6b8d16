import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEntry } from './entry.ts';

test('a Node without import.meta.main is refused', () => {
  const meta = (main?: boolean) => ({ filename: 'run.ts', main }) as ImportMeta;
  assert.deepEqual([isEntry(meta(true)), isEntry(meta(false))], [true, false]);
  assert.throws(() => isEntry(meta()), { message: /^run\.ts wants Node 24\.2 or later, and this is v\d/ });
});
