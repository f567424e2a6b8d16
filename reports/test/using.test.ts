/** What a reader does with a page: cursor, zoom, tables, files, print; and how large it is. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { csv } from '../page/download.ts';
import { count } from '../page/format.ts';
import { renderReport } from '../render.ts';
import { Reader } from './browser.ts';
import { golden } from './goldens.ts';
import { lasting } from './lasting.ts';
import { brightest, chartOf, drawAll, painted, picture, text, violations } from './looking.ts';
import { template } from './template.ts';

describe('the page in use', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  test('the bands of the stages bear their names, for those who do not see their colours', async () => {
    await reader.read(golden('passing'), async (page) => {
      assert.ok((await painted(page, 'Mean of each stage', '--ink')) > 100);
    });
  });

  test('the cursor is synchronised between the charts over time', async () => {
    await reader.read(golden('passing'), async (page) => {
      const plots = page.locator('.charts .u-over');
      await drawAll(page);
      await plots.first().scrollIntoViewIfNeeded();
      await plots.first().hover({ position: { x: 200, y: 60 } });
      const times = await page.locator('.charts .u-legend tr:first-child .u-value').allTextContents();
      assert.equal(times.length, 10);
      assert.match(times[0] ?? '', /^0:2\d$/);
      assert.equal(new Set(times).size, 1);
    });
  });

  test('by keyboard: the cursor moves, all charts over time zoom together, 0 shows everything', async () => {
    await reader.read(golden('passing'), async (page) => {
      await drawAll(page);
      const plot = page.locator('.charts .plot').first();
      const time = page.locator('.charts .u-legend tr:first-child .u-value');
      await plot.focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      assert.deepEqual(await time.evaluateAll((all) => [...new Set(all.map((one) => one.textContent))]), [
        '0:01',
      ]);
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      assert.equal(await time.first().textContent(), '0:00');
      const whole = await picture(page, 'Memory');
      for (let i = 0; i < 3; i++) await page.keyboard.press('+');
      assert.notEqual(await picture(page, 'Memory'), whole);
      await page.keyboard.press('-');
      await page.keyboard.press('0');
      assert.equal(await picture(page, 'Memory'), whole);
    });
  });

  test('a chart as a table; the files that the page makes', async () => {
    const run = golden('passing');
    await reader.read(run, async (page) => {
      const chart = chartOf(page, 'Backlog');
      await chart.locator('summary').click();
      await chart.locator('.data tbody tr').first().waitFor(); // they are made when it opens
      assert.equal(await chart.locator('.data tbody tr').count(), run.timeline.length);
      assert.equal(
        await chart.locator('.data tbody td').first().textContent(),
        count(run.timeline[0]?.backlog),
      );
      const files = new Map<string, string>();
      for (const button of await page.locator('.downloads button').all()) {
        const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
        files.set(file.suggestedFilename(), await readFile(await file.path(), 'utf8'));
      }
      assert.deepEqual([...files.keys()], [`${run.run.name}.csv`, `${run.run.name}.json`]);
      assert.deepEqual(JSON.parse(files.get(`${run.run.name}.json`) ?? ''), run);
      assert.equal(files.get(`${run.run.name}.csv`), csv(run));
    });
  });

  for (const [name, colorScheme] of [
    ['closed', 'dark'],
    ['hostile', 'light'],
  ] as const) {
    test(`axe-core finds nothing: ${name}, ${colorScheme}`, async () => {
      await reader.read(
        golden(name),
        async (page) => {
          await drawAll(page);
          await page.locator('.data summary').first().click();
          assert.deepEqual(await violations(page), []);
        },
        { colorScheme },
      );
    });
  }

  test('the page of an hour is no larger than 3 MB, that of a minute than 400 KB, and both are drawn', async () => {
    for (const [seconds, most] of [
      [60, 400_000],
      [3600, 3_000_000],
    ] as const) {
      const run = lasting(golden('passing'), seconds);
      const html = renderReport(run, await template());
      assert.ok(html.length <= most, `${seconds} s: ${html.length} bytes`);
      await reader.read(run, async (page) => {
        assert.ok((await painted(page, 'Arrival latency, all deliveries', '--ink')) > 100);
        await page.locator('.seconds summary').click();
        assert.ok((await page.locator('.seconds tbody tr').count()) <= 600);
      });
    }
  });

  test('the template without data is a plain sentence', async () => {
    await reader.read(null, async (page) => {
      assert.match(await text(page, 'main'), /This page holds no run/);
    });
  });

  test('dark, and printed from dark: charts follow', async () => {
    await reader.read(
      golden('passing'),
      async (page) => {
        await drawAll(page);
        const dark = await brightest(page);
        assert.ok(dark.paper < 60 && dark.axis > 120, JSON.stringify(dark));
        await page.emulateMedia({ media: 'print' });
        await page.waitForFunction(() => document.querySelector('canvas')?.clientWidth === 340);
        const print = await brightest(page);
        assert.ok(print.paper === 255 && print.axis < 120, JSON.stringify(print));
      },
      { colorScheme: 'dark' },
    );
  });
});
