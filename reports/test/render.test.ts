/** The page that `./k6 x arrival render` writes, from the template that the Go module holds. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execa } from 'execa';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Run } from '../contract/run.ts';
import { shownRun } from '../render.ts';
import { GOLDENS, golden } from './goldens.ts';
import { template } from './template.ts';

const ROOT = join(import.meta.dirname, '../..');
const EMBEDDED = 'extensions/k6/internal/render/page.gen.html';

let dir: string;
before(async () => {
  dir = await temporaryDirectory();
});
after(() => remove(dir));

const render = (...words: string[]) =>
  execa(join(ROOT, 'k6'), ['x', 'arrival', 'render', ...words], { reject: false, cwd: dir });

/** A copy without histograms. */
function bare(run: Run): Run {
  return JSON.parse(JSON.stringify(run, (key, value) => (key === 'histogram' ? null : value)));
}

describe('the page of each golden run', () => {
  before(async () => {
    for (const name of GOLDENS) {
      await mkdir(join(dir, name));
      await copyFile(join(ROOT, `reports/testdata/${name}.json`), join(dir, name, 'run.json'));
    }
    const { exitCode, stdout, stderr } = await render(...GOLDENS);
    const pages = GOLDENS.map((name) => join(name, 'index.html'));
    assert.deepEqual([exitCode, stdout.split('\n'), stderr], [0, pages, '']);
  });

  for (const name of GOLDENS) {
    test(`the page holds the data of ${name} unchanged`, async () => {
      const html = await readFile(join(dir, name, 'index.html'), 'utf8');
      const shown = shownRun(html);
      assert.deepEqual(shown.latency, golden(name).latency);
      const { answer, findings, ...rest } = shown;
      assert.ok(answer?.sentence && findings, 'render adds them to older runs');
      const { answer: own = answer, findings: found = findings, ...same } = golden(name);
      assert.deepEqual([answer, findings], [own, found]);
      assert.deepEqual(bare(rest as Run), bare(same as Run));
      const unfilled = html
        .replace(/(<script id="run"[^>]*>)[^<]+/, '$1null')
        .replace(/(<main id="report">).*?(<\/main>)/s, '$1$2');
      assert.equal(unfilled, await template());
    });
  }
});

test('render writes the page of a file to where --out says', async () => {
  const file = join(ROOT, 'reports/testdata/passing.json');
  const { exitCode, stdout, stderr } = await render(file, '--out', 'passing.html');
  assert.deepEqual([exitCode, stdout, stderr], [0, 'passing.html', '']);
  assert.equal(shownRun(await readFile(join(dir, 'passing.html'), 'utf8')).run.id, golden('passing').run.id);
});

test('render writes a page per run and names a path that is not a run', async () => {
  await writeFile(join(dir, 'run.json'), JSON.stringify(golden('passing')));
  const { exitCode, stdout, stderr } = await render('.', 'nowhere', join(dir, 'run.json'));
  assert.equal(exitCode, 1);
  assert.deepEqual(stdout.split('\n'), ['index.html', 'index.html']);
  assert.match(stderr, /open nowhere: no such file/);
  assert.equal(
    shownRun(await readFile(join(dir, 'index.html'), 'utf8')).run.name,
    golden('passing').run.name,
  );
  const two = await render('.', '.', '--out', 'x.html');
  assert.equal(two.exitCode, 1);
  assert.match(two.stderr, /--out is the page of one run/);
});

for (const command of ['', 'record', 'merge', 'check', 'render']) {
  test(`k6 x arrival ${command} --help prints the usage`, async () => {
    const words = ['x', 'arrival', ...(command ? [command] : []), '--help'];
    const { exitCode, stdout } = await execa(join(ROOT, 'k6'), words, { cwd: dir });
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(`^Usage:\n +k6 x arrival${command && ` ${command}`} ?`, 'm'));
    if (command !== '') assert.match(stdout, /exit code/i);
  });
}

// `xk6 build` has no Node, so the committed page has to match its sources.
test('the committed page of the Go module matches its sources', async (t) => {
  assert.equal(await readFile(join(ROOT, EMBEDDED), 'utf8'), await template(), 'npm run setup rebuilds it');
  const sources = ['reports/page', 'reports/*.ts', 'package-lock.json'];
  const args = ['status', '--porcelain', '--', EMBEDDED, ...sources];
  const { exitCode, stdout } = await execa('git', args, { cwd: ROOT, reject: false });
  if (exitCode !== 0) return t.skip('this folder is not a git checkout');
  const changed = stdout.split('\n').map((line) => line.slice(3));
  const alone = changed.includes(EMBEDDED) && changed.length === 1;
  assert.ok(!alone, `commit ${EMBEDDED}: the set-up rebuilt it from committed sources`);
});
