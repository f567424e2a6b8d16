/** The page with valid runs that no instrument writes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { Reader } from './browser.ts';
import { overflow, text, unreadable } from './looking.ts';
import { huge, turned, wordy } from './odd.ts';

describe('the page of an odd run', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  test('bidi controls are visible in all foreign text, and unchanged in downloads', async () => {
    const run = turned();
    await reader.read(run, async (page) => {
      await page.locator('.seconds summary').click();
      assert.deepEqual(await unreadable(page), []);
      for (const place of [
        'h1',
        '.verdict .meaning',
        '.phases th',
        '.u-legend th',
        'pre',
        '.facts dt',
        '.rules tbody th',
      ])
        assert.match((await page.locator(place).allTextContents()).join(), /\[U\+061C\]\[U\+200E\]/, place);
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page
          .locator('.downloads')
          .getByRole('button', { name: 'run.json', includeHidden: true })
          .dispatchEvent('click'),
      ]);
      assert.deepEqual(JSON.parse(await readFile(await file.path(), 'utf8')), run);
    });
  });

  test('huge figures do not break the layout', async () => {
    await reader.read(huge(), async (page) => {
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        assert.ok((await overflow(page)) <= 0, `${width} px`);
      }
      for (const details of await page.locator('main details > summary').all()) await details.press('Enter');
      assert.deepEqual(await unreadable(page), []);
      assert.match(await text(page, '.tiles dd'), /^1\.00e\+300 ms$/);
    });
  });

  test('a reason of 10,000 characters is cut and can be expanded', async () => {
    const run = wordy();
    await reader.read(run, async (page) => {
      for (const [place, whole = ''] of [
        ['.verdict li', run.facts.reasons[0]],
        ['#trust > .scroll', run.health.gaps[0]?.reason],
        ['.errors .scroll', run.errors[0]?.example ?? ''],
      ] as const) {
        const long = page.locator(`${place} .long`).first();
        const cut = await long.innerText();
        assert.ok(cut.startsWith(whole.slice(0, 100)) && cut.length < 600, place);
        await long.locator('summary').press('Enter');
        assert.ok(await long.locator('.all').isVisible());
        assert.equal(await long.locator('.all').textContent(), whole, place);
      }
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        assert.ok((await overflow(page)) <= 0, `${width} px`);
      }
    });
  });
});
