import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { answer } from '../page/facts.ts';
import { count, ms } from '../page/format.ts';
import { STAGES } from '../run.ts';
import { type Opened, Reader } from './browser.ts';
import { HOSTILE } from './golden.ts';
import { GOLDENS, golden } from './goldens.ts';

describe('the page in a browser', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  /** Opens a page, and afterwards checks that it was quiet and asked for nothing but itself. */
  async function read(
    run: Parameters<Reader['open']>[0],
    look: (page: Page, opened: Opened) => Promise<void>,
    options: Parameters<Reader['open']>[1] = {},
  ): Promise<void> {
    const opened = await reader.open(run, options);
    try {
      await look(opened.page, opened);
      assert.deepEqual(opened.complaints, []);
      const foreign = opened.requests.filter((url) => url !== opened.url && !url.startsWith('data:'));
      assert.deepEqual(foreign, []);
    } finally {
      await opened.page.context().close();
    }
  }

  for (const name of GOLDENS) {
    test(`${name}: verdict and account, no overflow wide or narrow, every chart drawn`, async () => {
      const run = golden(name);
      for (const width of [1280, 390]) {
        await read(
          run,
          async (page) => {
            assert.equal(await page.locator('.verdict strong').textContent(), run.verdict.result);
            assert.equal(await page.locator('h1').textContent(), run.run.name);
            const first = await page.locator('.equation .value').first().textContent();
            assert.equal(first, run.account.scheduled.toLocaleString('en-US'));
            assert.ok((await overflow(page)) <= 0, `${width} px: wider than the screen`);
            for (const [title, colours] of await charts(page)) {
              assert.ok(colours > 2, `${width} px: ${title} has drawn ${colours} colours`);
            }
          },
          { viewport: { width, height: 900 } },
        );
      }
    });
  }

  test('a passing run: its sentence, figures, equation, stages and charts', async () => {
    const run = golden('passing');
    const { arrival, http } = run.latency;
    await read(run, async (page) => {
      assert.equal(await page.title(), `${run.run.name} – Arrival report`);
      assert.equal(await text(page, '.answer'), answer(run).join(' ').replaceAll('\u00a0', ' '));
      assert.match(await text(page, '.aside'), /shared one host and its 2 cores/);
      assert.deepEqual(
        await page.locator('.headline dd').allTextContents(),
        [arrival.p50, arrival.p95, arrival.p99, arrival.max, http.p50, http.p99].map((v) => `${ms(v)} ms`),
      );
      assert.deepEqual(await page.locator('.equation .name').allTextContents(), [
        ...['scheduled', 'dropped', 'rejected', 'unknown', 'arrived', 'dead-lettered', 'queued', 'lost'],
      ]);
      assert.ok(
        (await text(page, '.balance')).startsWith(
          `It balances: the ends add up to ${count(run.account.scheduled)}`,
        ),
      );
      assert.equal(await page.locator('.stages tbody tr').count(), 6);
      assert.match(await text(page, '.stages'), /The means add up to the mean arrival latency, /);
      assert.deepEqual(
        (await charts(page)).map(([title]) => title),
        [
          'Latency by percentile',
          'Mean of each stage',
          'Messages',
          'Deliveries',
          'Backlog',
          'Arrival latency',
          'CPU',
        ],
      );
    });
  });

  test('an account that does not balance: red, and no percentile anywhere', async () => {
    await read(golden('unbalanced'), async (page) => {
      assert.match(await text(page, '[role=alert]'), /does not balance: the ends add up to 2,433, 37 fewer/);
      const red = await page.locator('.balance').evaluate((element) => getComputedStyle(element).color);
      assert.equal(red, 'rgb(179, 38, 30)');
      await page.locator('summary').click();
      const words = (await text(page, 'main')).replaceAll(/p\(\d+\)<\d+|redis TIME: .*/g, '');
      assert.doesNotMatch(words, /\bp\d\d|percentile|\d ms\b/);
      assert.doesNotMatch(words, /held/);
    });
  });

  test('data that claims to pass without balancing is not shown as a pass', async () => {
    const run = golden('unbalanced');
    run.verdict = { result: 'pass', reasons: [] };
    await read(run, async (page) => {
      assert.equal(await page.locator('.verdict strong').textContent(), 'invalid');
    });
  });

  test('hostile strings are text', async () => {
    await read(golden('hostile'), async (page) => {
      await page.locator('summary').click();
      assert.equal(await page.locator('img, main b, main script').count(), 0);
      assert.equal(await page.title(), `${HOSTILE} – Arrival report`);
      for (const place of ['.verdict li', '.phases tbody th', 'pre', '.facts dt', 'td code']) {
        assert.ok((await page.locator(place).allTextContents()).join().includes(HOSTILE), place);
      }
    });
  });

  test('without stages, and before the first second, it says so', async () => {
    await read(golden('without-stages'), async (page) => {
      assert.match(await text(page, 'main'), /Not available: the messages carried no stamps/);
    });
    await read(golden('started'), async (page) => {
      assert.match(await text(page, '.answer'), /No measured phase was reached/);
    });
  });

  test('a stage shorter than the clock bound is marked', async () => {
    const run = golden('passing');
    const { ingest } = run.latency.stages;
    const bound = (ingest.p50 ?? 0) + 0.001;
    if (run.clock) run.clock.bound_ms = bound;
    const short = STAGES.filter((stage) => (run.latency.stages[stage].p50 ?? 0) < bound);
    await read(run, async (page) => {
      const marked = await page.locator('.stages tbody tr:has(abbr) th').allTextContents();
      assert.equal(marked.length, short.length);
      for (const [i, stage] of short.entries()) assert.ok(marked[i]?.trim().startsWith(stage), stage);
      assert.match(await text(page, '.stages'), /shorter than the clock bound/);
    });
  });

  test('the cursor is synchronised between the charts over time', async () => {
    await read(golden('passing'), async (page) => {
      const plots = page.locator('.charts .u-over');
      await plots.first().scrollIntoViewIfNeeded();
      await plots.first().hover();
      const times = await page.locator('.charts .u-legend tr:first-child .u-value').allTextContents();
      assert.equal(times.length, 4);
      assert.match(times[0] ?? '', /^0:2\d$/);
      assert.equal(new Set(times).size, 1);
    });
  });

  test('the template without data is a plain sentence', async () => {
    await read(null, async (page) => {
      assert.match(await text(page, 'main'), /This page holds no run/);
    });
  });

  test('dark, and printed from dark: charts follow', async () => {
    await read(
      golden('passing'),
      async (page) => {
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

/** px that the page is wider than the screen. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

async function text(page: Page, selector: string): Promise<string> {
  return ((await page.locator(selector).first().textContent()) ?? '').replaceAll('\u00a0', ' ');
}

/** Title of each chart that has something to draw, and how many colours are on its canvas. */
function charts(page: Page): Promise<[string, number][]> {
  return page.locator('.chart:has(canvas)').evaluateAll((figures) =>
    figures.map((figure) => {
      const title = figure.querySelector('h3')?.firstChild?.textContent?.trim() ?? '';
      const canvas = figure.querySelector('canvas') as HTMLCanvasElement;
      const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
        0,
        0,
        canvas.width,
        canvas.height,
      );
      return [title, new Set(new Uint32Array(data.buffer)).size];
    }),
  );
}

/** Brightness, 0 to 255, of the page and of the numbers on the first chart's axis. */
function brightest(page: Page): Promise<{ paper: number; axis: number }> {
  return page.evaluate(() => {
    const rgb = getComputedStyle(document.body).backgroundColor.match(/\d+/g)?.map(Number) ?? [];
    const canvas = document.querySelector('canvas') as HTMLCanvasElement;
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    const { data } = context.getImageData(0, 0, 44, canvas.height);
    let axis = 0;
    let most = 0;
    for (let i = 0; i < data.length; i += 4) {
      if ((data[i + 3] ?? 0) > most) {
        most = data[i + 3] ?? 0;
        axis = data[i] ?? 0;
      }
    }
    return { paper: Math.max(...rgb), axis };
  });
}
