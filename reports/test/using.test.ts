/** How a reader uses a page: cursor, zoom, tables, files; and the size of pages. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clock, count } from '../format.ts';
import { render } from '../k6.ts';
import { csv } from '../page/download.ts';
import { Reader } from './browser.ts';
import { golden } from './goldens.ts';
import { lasting } from './lasting.ts';
import { blank, brightest, chartOf, firstPaint, painted, picture, text, zoomsByMouse } from './looking.ts';

describe('the page in use', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  test('the bands of the stages are labelled, not told apart by colour alone', async () => {
    await reader.look('passing', async (page) => {
      assert.ok((await painted(page, 'Mean of each stage', '--ink')) > 10);
    });
  });

  test('the cursor is synchronised between the charts over time', async () => {
    await reader.read(golden('passing'), async (page) => {
      const plots = page.locator('#time .u-over');
      await plots.first().scrollIntoViewIfNeeded();
      await plots.first().hover({ position: { x: 200, y: 60 } });
      const all = await page.locator('.charts .u-legend tr:first-child .u-value').allTextContents();
      const times = all.filter((time) => time !== '');
      assert.equal(times.length, 13);
      assert.match(times[0] ?? '', /^0:2\d · 09:48:2\d UTC$/);
      assert.equal(new Set(times).size, 1);
    });
  });

  test('keys move the cursor and zoom all charts over time; 0 resets the zoom', async () => {
    await reader.read(golden('passing'), async (page) => {
      const plot = page.locator('#time .plot').first();
      const time = page.locator('#time .u-legend tr:first-child .u-value');
      await plot.focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      assert.deepEqual(await time.evaluateAll((all) => [...new Set(all.map((one) => one.textContent))]), [
        '0:01 · 09:48:01 UTC',
      ]);
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      assert.equal(await time.first().textContent(), '0:00 · 09:48:00 UTC');
      const whole = await picture(page, 'Memory');
      for (let i = 0; i < 3; i++) await page.keyboard.press('+');
      assert.notEqual(await picture(page, 'Memory'), whole);
      await page.keyboard.press('-');
      await page.keyboard.press('0');
      assert.equal(await picture(page, 'Memory'), whole);
    });
  });

  test('a chart is one stop of the keyboard, from which Down leads to its lines and Up back', async () => {
    await reader.read(golden('passing'), async (page) => {
      const stops = await page
        .locator('main, nav')
        .first()
        .evaluate(
          () =>
            [...document.querySelectorAll<HTMLElement>('a[href], button, summary, [tabindex]')].filter(
              (one) => one.tabIndex >= 0 && one.checkVisibility(),
            ).length,
        );
      assert.ok(stops <= 60, `${stops} stops`);
      const plot = chartOf(page, 'Mean of each stage').locator('.plot');
      const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
      await plot.focus();
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(), 'schedule');
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(), 'request');
      await page.keyboard.press('Enter');
      const line = chartOf(page, 'Mean of each stage').getByRole('button', { name: 'request' });
      assert.equal(await line.getAttribute('aria-pressed'), 'false');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      assert.ok(await plot.evaluate((element) => element === document.activeElement));
    });
  });

  test('while zoomed, titles over time say that they are of the whole run', async () => {
    await reader.read(golden('passing'), async (page) => {
      const said = (name: string) =>
        chartOf(page, name)
          .locator('h3')
          .evaluate((title) => getComputedStyle(title, '::after').content);
      assert.equal(await said('Backlog'), 'none');
      await page
        .locator('.findings li')
        .first()
        .click({ position: { x: 60, y: 8 } });
      assert.match(await said('Backlog'), /whole run/);
      assert.equal(await said('Latency by percentile'), 'none');
      await page.locator('.window').getByRole('button').press('Enter');
      assert.equal(await said('Backlog'), 'none');
    });
  });

  test('a table that scrolls sideways fades where there is more', async () => {
    await reader.read(
      golden('passing'),
      async (page) => {
        const table = page.locator('.scroll[data-after]').first();
        await table.waitFor();
        const [before, after] = ['data-before', 'data-after'];
        const handle = await table.elementHandle();
        assert.ok(handle);
        const has = (name: string) => handle.evaluate((element, name) => element.hasAttribute(name), name);
        assert.deepEqual([await has(before), await has(after)], [false, true]);
        await handle.evaluate((element) => {
          const scrolled = new Promise((done) => element.addEventListener('scroll', done, { once: true }));
          element.scrollLeft = element.scrollWidth;
          return scrolled.then(() => undefined);
        });
        assert.deepEqual([await has(before), await has(after)], [true, false]);
      },
      { viewport: { width: 390, height: 844 } },
    );
  });

  test('a drag zooms all charts over time; a double click resets the zoom', async () => {
    await reader.look('passing', async (page) => {
      await zoomsByMouse(page, 'Backlog', 'Memory');
    });
  });

  test('a zoomed page shows the figures of its seconds and a button that resets the zoom', async () => {
    await reader.read(golden('passing'), async (page) => {
      const bar = page.locator('.window');
      assert.ok(!(await bar.isVisible()));
      const whole = await picture(page, 'Memory');
      const finding = page.locator('.findings li').first();
      await finding.click({ position: { x: 60, y: 8 } }); // on its text
      assert.match(
        (await bar.innerText()).replaceAll('\u00a0', ' '),
        /^0:\d\d – 0:\d\d: [\d,]+ messages\/s scheduled · arrival p50 ≈ [\d.]+ ms · p99 ≈ [\d.]+ ms · 0 messages lost/,
      );
      await bar.getByRole('button').press('Enter');
      assert.ok(!(await bar.isVisible()));
      assert.equal(await picture(page, 'Memory'), whole);
    });
  });

  test('the account opens to the equation, by itself if something is missing', async () => {
    const run = golden('failing');
    await reader.look('passing', async (page) => {
      assert.ok(!(await page.locator('header details.line .equation').isVisible()));
    });
    await reader.read(run, async (page) => {
      const line = page.locator('header details.line');
      const equation = line.locator('.equation');
      assert.match(await line.locator('summary').innerText(), /89,300 scheduled = .* arrived \+ \d+ lost$/);
      assert.ok(await equation.isVisible());
      await line.locator('summary').press('Enter');
      assert.ok(!(await equation.isVisible()));
      await line.locator('summary').press('Enter');
      assert.ok(await equation.isVisible());
      assert.equal(
        await equation.locator('.term', { hasText: 'lost' }).locator('.value').textContent(),
        count(run.account.lost),
      );
    });
  });

  test('a key hides a line, and the cursor shows values with units', async () => {
    await reader.read(golden('passing'), async (page) => {
      const chart = chartOf(page, 'Mean of each stage');
      const queue = chart.getByRole('button', { name: 'queue' });
      const whole = await picture(page, 'Mean of each stage');
      await queue.press('Enter');
      assert.equal(await queue.getAttribute('aria-pressed'), 'false');
      assert.notEqual(await picture(page, 'Mean of each stage'), whole);
      await queue.press(' ');
      assert.equal(await queue.getAttribute('aria-pressed'), 'true');
      assert.equal(await picture(page, 'Mean of each stage'), whole);
      await chart.locator('.plot').press('ArrowRight');
      const values = await chart.locator('.u-value').allTextContents();
      assert.ok(
        values.slice(1).every((value) => /^[\d.]+\sms$/.test(value)),
        values.join(),
      );
    });
  });

  test('a scroll area is a tab stop only if it scrolls', async () => {
    await reader.read(golden('passing'), async (page) => {
      const phases = page.locator('.phases .scroll');
      assert.equal(await phases.getAttribute('tabindex'), null);
      await page.setViewportSize({ width: 390, height: 900 });
      await page.locator('.phases .scroll[tabindex="0"]').waitFor();
    });
  });

  test('each row of the heat map’s table adds up to the arrivals of its second', async () => {
    const run = golden('passing');
    await reader.look('passing', async (page) => {
      const chart = chartOf(page, 'Arrival latency, all deliveries');
      await chart.locator('summary').press('Enter'); // a click could miss it: charts drawn above would move it
      const table = chart.locator('.data table').nth(1);
      await table.locator('tbody tr').first().waitFor();
      const rows = await table
        .locator('tbody tr')
        .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
      assert.deepEqual(
        rows.map(([, ...counts]) => counts.reduce((sum, one) => sum + Number(one.replaceAll(',', '')), 0)),
        run.timeline.map(({ arrived }) => arrived),
      );
      assert.deepEqual(
        rows.map(([time]) => time),
        run.timeline.map(({ t }) => clock(t)),
      );
    });
  });

  test('a chart has a table, and the page offers its data as files', async () => {
    const run = golden('passing');
    await reader.look('passing', async (page) => {
      const chart = chartOf(page, 'Backlog');
      await chart.locator('summary').press('Enter');
      await chart.locator('.data tbody tr').first().waitFor(); // the rows are made on opening
      assert.equal(await chart.locator('.data tbody tr').count(), run.timeline.length);
      assert.equal(
        await chart.locator('.data tbody td').first().textContent(),
        count(run.timeline[0]?.backlog),
      );
      const files = new Map<string, string>();
      await page.locator('.setup > summary').press('Enter');
      for (const button of await page.locator('.downloads button').all()) {
        const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
        files.set(file.suggestedFilename(), await readFile(await file.path(), 'utf8'));
      }
      assert.deepEqual([...files.keys()], [`${run.run.name}.csv`, `${run.run.name}.json`]);
      assert.deepEqual(JSON.parse(files.get(`${run.run.name}.json`) ?? ''), run);
      assert.equal(files.get(`${run.run.name}.csv`), csv(run));
    });
  });

  test('the page of an hour has at most 3 MB, the page of a minute 320 KB, and both are drawn', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'arrival-large-'));
    t.after(() => rm(directory, { recursive: true }));
    for (const [seconds, most] of [
      [60, 320_000],
      [3600, 3_000_000],
    ] as const) {
      const run = lasting(golden('passing'), seconds);
      const [, slow] = run.timeline;
      assert.ok(slow?.stages);
      slow.stages.queue = 1000;
      await writeFile(join(directory, 'run.json'), JSON.stringify(run));
      await render(directory);
      const html = await readFile(join(directory, 'index.html'), 'utf8');
      assert.ok(html.length <= most, `${seconds} s: ${html.length} bytes`);
      await reader.read(html, async (page) => {
        const began = performance.now();
        await page.reload();
        await page.locator('main > footer').waitFor();
        const [answer, all] = [await firstPaint(page), performance.now() - began];
        t.diagnostic(
          `${seconds} s: ${count(html.length / 1000)} KB, the answer after ${count(answer)} ms, all after ${count(all)} ms`,
        );
        assert.match(await text(page, '.answer'), /messages\/s.* p99 .*250 ms/);
        assert.match(await text(page, '.findings'), /The worst second is \d+:\d\d/);
        assert.ok((await painted(page, 'Arrival latency, all deliveries', '--ink')) > 100);
        // Regression: one slow second flattened the stages of a whole hour to a line of some 11 pixels.
        if (seconds === 3600) assert.ok((await painted(page, 'Mean of each stage', '--request')) > 100);
        await page.locator('.seconds summary').click();
        assert.ok((await page.locator('.seconds tbody tr').count()) <= 600);
      });
    }
  });

  test('the template without data says that it holds no run', async () => {
    await reader.read(null, async (page) => {
      assert.match(await text(page, 'main'), /This page holds no run/);
    });
  });

  test('every chart is drawn at the load event, even below the screen', async () => {
    await reader.read(golden('passing'), async (page) => {
      await page.addInitScript(() => {
        addEventListener('load', () => {
          const drawn = document.querySelectorAll('.plot canvas').length;
          document.body.dataset.drawn = `${drawn} of ${document.querySelectorAll('.plot').length}`;
        });
      });
      await page.reload();
      assert.equal(await page.locator('body').getAttribute('data-drawn'), '18 of 18');
      assert.deepEqual(await blank(page), []);
    });
  });

  test('charts follow the dark scheme, and are light in print', async () => {
    await reader.read(
      golden('passing'),
      async (page) => {
        const dark = await brightest(page);
        assert.ok(dark.paper < 60 && dark.axis > 120, JSON.stringify(dark));
        await page.emulateMedia({ media: 'print' });
        await page.waitForFunction(() => document.querySelector('.charts canvas')?.clientWidth === 336);
        const print = await brightest(page);
        assert.ok(print.paper === 255 && print.axis < 120, JSON.stringify(print));
      },
      { colorScheme: 'dark' },
    );
  });
});
