/** The Go module is used without this repository, so its folder has to be complete. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesBelow } from './sources.mjs';

const ROOT = join(import.meta.dirname, '../..');
const MODULE = join(ROOT, 'extensions/k6');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const goMod = read('extensions/k6/go.mod');
const found = (pattern: RegExp, text: string) => pattern.exec(text)?.[1] ?? `no ${pattern}`;

test('READMEs and k6.Dockerfile name the Go and the k6 of go.mod', () => {
  const go = found(/^go (\d+\.\d+)\./m, goMod);
  assert.equal(found(/^With .*Go ≥ ([\d.]+)/m, read('README.md')), go);
  assert.equal(found(/needs Go ≥ ([\d.]+)/, read('extensions/k6/README.md')), go);
  assert.equal(found(/^ARG GO=golang:([\d.]+)-/m, read('k6.Dockerfile')), go);
  const k6 = found(/^\tgo\.k6\.io\/k6\/v2 (\S+)$/m, goMod);
  assert.equal(found(/xk6 build (\S+) /, read('extensions/k6/README.md')), k6);
});

test("go.mod replaces nothing, the license is the repository's, and only README.md names the module", () => {
  assert.doesNotMatch(goMod, /^replace|^\)?\s*replace/m);
  assert.equal(read('extensions/k6/LICENSE'), read('LICENSE'));
  const path = found(/^module (.*)$/m, goMod);
  const says = (line: string) => line.includes(path) && !/^(module |\t*(import )?(\w+ )?")/.test(line);
  const naming = filesBelow(MODULE).filter((file) =>
    readFileSync(join(MODULE, file), 'utf8').split('\n').some(says),
  );
  assert.deepEqual(naming, ['README.md']);
});

test("the module's types import only each other", () => {
  const types = filesBelow(MODULE).filter((path) => path.endsWith('.d.ts'));
  assert.ok(types.includes('index.d.ts') && types.includes('mqtt/index.d.ts'), types.join());
  for (const file of types) {
    const text = readFileSync(join(MODULE, file), 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');
    for (const [, name = ''] of text.matchAll(/(?:from |import\()'([^']+)'/g)) {
      const seen = join(file, '..', name).replace(/\.js$/, '.d.ts');
      assert.ok(name.startsWith('.') && types.includes(seen), `${file}: ${name}`);
    }
  }
});
