import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import schema from '../contract/run.schema.json' with { type: 'json' };
import { declarations } from './declarations.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The Go module has its own copy: it is used without this repository. */
const FILES = ['reports/contract/run.gen.d.ts', 'extensions/k6/arrival/run.gen.d.ts'];
const NAMES = { '': 'Run', run: 'RunInfo', error: 'RunError' };

for (const file of FILES) {
  test(`${file} matches run.schema.json (to update it: UPDATE=1 node --test reports/test/types.unit.test.ts)`, async () => {
    const text = `// Generated from run.schema.json; do not edit.\n\n${declarations(schema, NAMES)}`;
    if (process.env.UPDATE) await writeFile(join(ROOT, file), text);
    assert.equal(await readFile(join(ROOT, file), 'utf8'), text);
  });
}
