import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { csv } from '../page/download.ts';
import { answer } from '../page/facts.ts';
import { count, ms } from '../page/format.ts';
import { renderReport } from '../render.ts';
import { Reader } from './browser.ts';
import { HOSTILE } from './golden.ts';
import { GOLDENS, golden } from './goldens.ts';
import { lasting } from './lasting.ts';
import {
  brightest,
  chartOf,
  charts,
  drawAll,
  legend,
  overflow,
  painted,
  picture,
  text,
  violations,
} from './looking.ts';
import { template } from './template.ts';

describe('the page in a browser', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  for (const name of GOLDENS) {
    test(`${name}: verdict and account, no overflow wide or narrow, every chart drawn`, async () => {
      const run = golden(name);
      await reader.read(run, async (page) => {
        assert.equal(await page.locator('.verdict strong').textContent(), run.verdict.result);
        assert.equal(await page.locator('h1').textContent(), run.run.name);
        const first = await page.locator('.equation .value').first().textContent();
        assert.equal(first, run.account.scheduled.toLocaleString('en-US'));
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 900 });
          for (const [title, colours] of await charts(page)) {
            assert.ok(colours > 2, `${width} px: ${title} has drawn ${colours} colours`);
          }
          assert.ok((await overflow(page)) <= 0, `${width} px: wider than the screen`);
        }
      });
    });
  }

  test('a passing run: its sentence, figures, equation, stages and charts', async () => {
    const run = golden('passing');
    const { arrival, http } = run.latency;
    await reader.read(run, async (page) => {
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
          'Arrival latency, all deliveries',
          'HTTP latency',
          'CPU',
          'Memory',
          'Host: what its cores did',
          'Host: context switches and interrupts',
        ],
      );
    });
  });

  test('an account that does not balance: red, and no percentile anywhere', async () => {
    await reader.read(golden('unbalanced'), async (page) => {
      assert.match(await text(page, '[role=alert]'), /does not balance: the ends add up to 2,433, 37 fewer/);
      const red = await page.locator('.balance').evaluate((element) => getComputedStyle(element).color);
      assert.equal(red, 'rgb(179, 38, 30)');
      await page.locator('.seconds summary').click();
      await page.locator('.clocks').evaluate((clocks) => clocks.remove()); // no latency of a message
      const words = (await text(page, 'main')).replaceAll(/p\(\d+\)<\d+/g, '');
      assert.doesNotMatch(words, /\bp\d\d|percentile|\d ms\b/);
      assert.doesNotMatch(words, /held/);
    });
  });

  test('data that claims to pass without balancing is not shown as a pass', async () => {
    const run = golden('unbalanced');
    run.verdict = { result: 'pass', reasons: [] };
    await reader.read(run, async (page) => {
      assert.equal(await page.locator('.verdict strong').textContent(), 'invalid');
    });
  });

  test('what was planned for each phase', async () => {
    const run = golden('passing');
    const [first] = run.run.profile.phases;
    assert.ok(first);
    first.arrival_rate = 0;
    await reader.read(run, async (page) => {
      assert.deepEqual(await page.locator('.phases small').allTextContents(), [
        ...['pause, not measured', '100 → 1,500 requests/s', '1,500 requests/s'],
      ]);
    });
    const closed = golden('closed');
    const [warmUp] = closed.steps;
    assert.ok(warmUp);
    warmUp.vus = 0;
    await reader.read(closed, async (page) => {
      assert.equal(await text(page, '.phases small'), 'pause, not measured');
    });
  });

  test('targets: those that lost messages first, the slowest next, the rest on demand', async () => {
    const run = golden('failing');
    const { rows = [] } = run.targets ?? {};
    await reader.read(run, async (page) => {
      const names = page.locator('.targets > section tbody th');
      assert.equal(await names.count(), 10);
      const most = rows.reduce((a, b) => (b.lost > a.lost ? b : a));
      assert.equal(await names.first().textContent(), most.name);
      assert.match(await text(page, '.targets p'), /targets of those listed lost messages\. The slowest is /);
      await page.locator('.targets summary').click();
      assert.equal(await page.locator('.targets details tbody tr').count(), rows.length);
      assert.ok(rows.length > 10);
    });
    await reader.read(golden('incomplete'), async (page) => {
      assert.equal(await page.locator('.targets').count(), 0);
    });
  });

  test('samples of trace lists stand beside what all messages tell; without them there is nothing', async () => {
    const run = golden('closed');
    await reader.read(run, async (page) => {
      assert.equal(await page.locator('.sampled').count(), 0);
    });
    const sampled = {
      ...{ one_in: 100, count: 90, not_found: 2, mean: 11, p50: 9, p99: 30, max: 40 },
      parts: { ingest: 1, relay: 8, arrival: 2 },
      difference: { mean: 1, p50: -1, p99: -30 },
    };
    for (const step of run.steps) step.sampled = sampled;
    run.sampled = sampled;
    run.latency.arrival.p99 = 60;
    await reader.read(run, async (page) => {
      assert.match(
        (await text(page, '.sampled p')).replaceAll('\u00a0', ' '),
        /^Sampled p99 30\.0 ms from 90 samples, full 60\.0 ms, difference −30\.0 ms \(−50 %\)\.$/,
      );
      assert.equal(await page.locator('.sampled tbody tr').count(), run.steps.length);
      assert.match(await text(page, '.sampled .small'), /^2 deliveries of sampled messages are left out/);
      await page.setViewportSize({ width: 390, height: 900 });
      assert.ok((await overflow(page)) <= 0);
    });
  });

  test('hostile strings are text', async () => {
    await reader.read(golden('hostile'), async (page) => {
      await page.locator('.seconds summary').click();
      assert.equal(await page.locator('img, main b, main script').count(), 0);
      assert.equal(await page.title(), `${HOSTILE} – Arrival report`);
      for (const place of [
        '.verdict li',
        '.phases tbody th',
        '.targets tbody th',
        'pre',
        '.facts dt',
        'td code',
      ]) {
        assert.ok((await page.locator(place).allTextContents()).join().includes(HOSTILE), place);
      }
    });
  });

  test('without stages, and before the first second, it says so', async () => {
    await reader.read(golden('without-stages'), async (page) => {
      assert.match(await text(page, 'main'), /Not available: the messages carried no stamps/);
    });
    await reader.read(golden('started'), async (page) => {
      assert.match(await text(page, '.answer'), /No measured phase was reached/);
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

  test('a sweep: the figure with its knee and the fit', async () => {
    await reader.read(golden('closed'), async (page) => {
      const [first, second] = (await charts(page)).map(([title]) => title);
      assert.deepEqual([first, second], ['Latency by concurrency', 'Throughput by concurrency']);
      assert.match(await text(page, '.sweep .chart p'), /^Knee at 4 VUs: arrival p50 is 4\.74 ms there/);
      assert.deepEqual(await legend(page, 'Throughput by concurrency'), [
        ...['requests', 'deliveries arrived', 'USL fit'],
      ]);
      assert.match(
        await text(page, '.script'),
        /time to drain0\.3 stime until p99 is backdid not come about/,
      );
    });
    await reader.read(golden('passing'), async (page) => {
      assert.equal(await page.locator('.sweep, .script').count(), 0);
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
