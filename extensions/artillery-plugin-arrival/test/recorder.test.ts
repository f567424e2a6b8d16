import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { remove, temporaryDirectory } from '../../../pipeline/test/services.ts';
import { findRecorder, MODULE, PACKAGE } from '../recorder.ts';

const EXTENDED = 'k6 v2.2.0\n  github.com/grafana/k6/arrival, arrival [subcommand]';
const STOCK = 'k6 v2.2.0 (go1.26.8, linux/amd64)';

/** An empty folder. `put` adds a k6 that prints `says` for `k6 version`. */
async function folder(t: TestContext) {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const put = (path: string, says: string, exit = 0) => {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\n[ "$1" = version ] || exit 3\necho '${says}'\nexit ${exit}\n`);
    chmodSync(file, 0o755);
    return file;
  };
  const find = (env: NodeJS.ProcessEnv = {}) =>
    findRecorder(
      { PATH: ['first', 'second'].map((name) => join(dir, name)).join(':'), ...env },
      join(dir, 'root'),
      join(dir, 'plugin.js'),
    );
  return { put, find };
}

test('the recorder is ARRIVAL_K6, or else the first of folder, package and PATH', async (t) => {
  const { put, find } = await folder(t);
  put('first/k6', STOCK);
  const inPath = put('second/k6', EXTENDED);
  assert.equal(find(), inPath, 'a k6 without the extension is skipped');
  const packaged = put(`node_modules/${PACKAGE}/k6`, EXTENDED);
  assert.equal(find(), packaged);
  const local = put('root/k6', EXTENDED);
  assert.equal(find(), local);
  const given = put('own/k6', EXTENDED);
  assert.equal(find({ ARRIVAL_K6: given }), given);
});

test('without a recorder, one line lists where it was sought and how to get one', async (t) => {
  const { put, find } = await folder(t);
  put('first/k6', STOCK);
  assert.throws(() => find(), {
    message: /^no k6 with the arrival extension in ARRIVAL_K6, \S+root, \S+ or PATH; .+$/,
  });
  const stock = put('own/k6', STOCK);
  assert.throws(() => find({ ARRIVAL_K6: stock }), {
    message: /^ARRIVAL_K6 is .*\/k6, which has no .+; .+$/,
  });
});

// Regression: it was skipped, and an older one in PATH recorded the run.
test('a recorder that does not run ends the search with an error', async (t) => {
  const { put, find } = await folder(t);
  put('second/k6', EXTENDED);
  put('root/k6', 'it is stale', 1);
  assert.throws(() => find(), { message: /^the recorder \S+root\/k6 does not run: the exit code 1; .+$/ });
  assert.throws(() => find({ ARRIVAL_K6: '/nowhere/k6' }), {
    message: /\/nowhere\/k6 does not run: .*ENOENT/,
  });
});

test('MODULE is the module of go.mod', () => {
  const text = readFileSync(join(import.meta.dirname, '../../k6/go.mod'), 'utf8');
  assert.equal(/^module (\S+)$/m.exec(text)?.[1], MODULE);
});
