import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import schema from '../contract/run.schema.json' with { type: 'json' };
import { declarations } from './declarations.ts';

/** The Go module has it, which is used without this repository; contract/run.gen.d.ts is a link to it. */
const FILE = join(import.meta.dirname, '../../extensions/k6/arrival/run.gen.d.ts');
const NAMES = { '': 'Run', run: 'RunInfo', error: 'RunError' };

test('run.gen.d.ts matches run.schema.json (to update it: UPDATE=1 node --test reports/test/types.unit.test.ts)', async () => {
  const text = `// Generated from run.schema.json; do not edit.\n\n${declarations(schema, NAMES)}`;
  if (process.env.UPDATE) await writeFile(FILE, text);
  assert.equal(await readFile(FILE, 'utf8'), text);
});
