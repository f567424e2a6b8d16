import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import schema from '../contract/run.schema.json' with { type: 'json' };
import { declarations } from './declarations.ts';

const FILE = join(import.meta.dirname, '../contract/run.gen.d.ts');
const NAMES = { '': 'Run', run: 'RunInfo', error: 'RunError' };

test('run.gen.d.ts is what run.schema.json says (write it anew: UPDATE=1 node --test reports/test/types.unit.test.ts)', async () => {
  const text = `// Generated from run.schema.json; do not edit.\n\n${declarations(schema, NAMES)}`;
  if (process.env.UPDATE) await writeFile(FILE, text);
  assert.equal(await readFile(FILE, 'utf8'), text);
});
