/** The page of the referee in a browser. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Reader } from '../../test/browser.ts';
import { charts, overflow } from '../../test/looking.ts';
import { template } from '../../test/template.ts';
import { writeReferee } from '../page.ts';
import { madeResult } from './made.ts';

test('the page is written beside the figures, and works offline on a wide and on a narrow screen', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'arrival-referee-'));
  t.after(() => rm(directory, { recursive: true }));
  const [reader] = await Promise.all([Reader.start(), template('referee')]);
  t.after(() => reader.close());
  const path = await writeReferee(directory, madeResult());
  assert.equal(path, join(directory, 'index.html'));
  await reader.read(await readFile(path, 'utf8'), async (page) => {
    const drawn = await charts(page);
    assert.deepEqual(
      drawn.map(({ name }) => name),
      [
        'Open under constant',
        'Closed and paced under constant',
        'Open under freeze',
        'Closed and paced under freeze',
      ],
    );
    for (const { name, lines } of drawn)
      assert.ok(
        lines.every(({ pixels }) => pixels > 20),
        name,
      );
    await page.setViewportSize({ width: 390, height: 800 });
    assert.ok((await overflow(page)) <= 0);
  });
});

test('without a built page, it says how to build it', async () => {
  const missing = join(tmpdir(), 'no-such-folder', 'index.html');
  await assert.rejects(writeReferee(tmpdir(), madeResult(), missing), /npm run setup builds it/);
});
