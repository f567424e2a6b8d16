import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { messagesCsv } from '../page/download.ts';
import { Reader } from './browser.ts';
import { GOLDENS, golden, HOSTILE } from './goldens.ts';
import { charts, legend, overflow, text } from './looking.ts';
import { messagesRun, sampledRun } from './odd.ts';
import { assertReads } from './reading.ts';
import { SPANS, unmarked, withSpans } from './spans.ts';

describe('the page in a browser', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  for (const name of GOLDENS) {
    test(`${name}: the page has verdict and account, fits the screen and draws every chart`, async () => {
      await reader.look(name, (page) => assertReads(page, golden(name)));
    });
  }

  test('the page has a title, and a menu of its sections', async () => {
    await reader.look('passing', async (page) => {
      assert.equal(await page.title(), `${golden('passing').run.name} – Arrival report`);
      const menu = await page.locator('.menu a').allTextContents();
      assert.deepEqual(menu, [
        ...['Summary', 'Findings', 'Stages', 'Over time', 'Latency', 'Flows and messages'],
        ...['Trust', 'Resources', 'Setup'],
      ]);
    });
  });

  for (const name of ['failing', 'refusing', 'gap', 'connections', 'capacity'] as const) {
    test(`${name}: the first chart is on the first screen of a laptop`, async () => {
      const fold = { width: 1440, height: 900 };
      await reader.read(
        golden(name),
        async (page) => {
          const plot = await page.locator('header .chart .u-over').first().boundingBox();
          assert.ok(plot && plot.y + plot.height <= fold.height, JSON.stringify(plot));
        },
        { viewport: fold },
      );
    });
  }

  test('the memory chart omits the host', async () => {
    await reader.look('real', async (page) => {
      const lines = await legend(page, 'Memory');
      assert.ok(lines.includes('relay-1') && !lines.includes('host'), lines.join());
    });
  });

  test('a table of sampled latencies fits a narrow screen', async () => {
    await reader.read(sampledRun(), async (page) => {
      await page.setViewportSize({ width: 390, height: 900 });
      await page.locator('.sampled').waitFor();
      assert.ok((await overflow(page)) <= 0);
    });
  });

  test('request figures bear the name of the protocol', async () => {
    assert.equal(golden('throughput').run.protocol, 'MQTT');
    await reader.look('throughput', async (page) => {
      const shown = await text(page, 'main');
      for (const label of ['arrival and MQTT', 'MQTT p99']) assert.ok(shown.includes(label), label);
      assert.ok((await legend(page, 'Latency by concurrency')).includes('MQTT mean'));
      assert.ok((await charts(page)).some(({ name }) => name === 'MQTT latency'));
      // The description of the stages is the same for every run.
      assert.doesNotMatch(shown.replaceAll('connection, HTTP, parsing', ''), /HTTP/);
    });
  });

  test('many phases are named by the first and the last, and folded', async () => {
    const run = golden('passing');
    const [, step] = run.steps;
    const [, phase] = run.run.profile.phases;
    assert.ok(step && phase);
    run.steps = Array.from({ length: 100 }, (_, i) => ({ ...step, name: `${i + 1}` }));
    run.run.profile.phases = run.steps.map(({ name }) => ({ ...phase, name }));
    await reader.read(run, async (page) => {
      await page.getByText('ms, over the measured phases (100 phases, 1 to 100)').waitFor();
      assert.equal(await page.locator('.phases tbody tr').count(), 40);
      await page.locator('.phases summary').click();
      await page.locator('.phases details tbody tr').nth(99).waitFor();
    });
  });

  test('few samples give a visible curve', async () => {
    const run = golden('passing');
    Object.assign(run.latency.arrival, {
      count: 2,
      curve: [
        [0, 1],
        [50, 1],
        [100, 3],
      ],
    });
    for (const series of [run.latency.from_send, run.latency.http])
      Object.assign(series, { count: 0, curve: [] });
    await reader.read(run, async (page) => {
      const [curve] = (await charts(page)).filter(({ name }) => name === 'Latency by percentile');
      assert.ok((curve?.lines[0]?.pixels ?? 0) > 0);
    });
  });

  test('messages are listed with their longest stage, sorted, copied and downloaded', async () => {
    const run = messagesRun();
    await reader.read(
      run,
      async (page) => {
        const rows = await page.locator('#messages tbody tr').allTextContents();
        assert.equal(rows.length, 4);
        assert.match(rows[0] ?? '', /^r\.1\.7\D*300.*queue, 300.*4bf92f3577b34da6a3ce929d0e0e4736$/);
        assert.match(rows[1] ?? '', /^r\.1\.8.*not known.*–$/);
        assert.match(rows[2] ?? '', /^r\.1\.9\D*lost/);
        assert.match(await text(page, '.stages tbody tr:nth-child(4)'), /98\s%/);

        const [slowest, named] = [0, 1].map((i) => page.locator('#messages table').nth(i));
        assert.ok(slowest && named);
        const sorts = async (table: typeof slowest, head: string) => {
          await table.getByRole('button', { name: head, exact: true }).press('Enter');
          const sorted = table.locator('th[aria-sort]');
          assert.equal(await sorted.count(), 1);
          return [await sorted.getAttribute('aria-sort'), ...(await table.locator('.id').allTextContents())];
        };
        assert.deepEqual(await sorts(slowest, 'subscriber'), ['descending', 'r.1.8', 'r.1.7']);
        assert.deepEqual(await sorts(slowest, 'subscriber'), ['ascending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(slowest, 'longest stage'), ['ascending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(slowest, 'longest stage'), ['descending', 'r.1.7', 'r.1.8']);
        assert.deepEqual(await sorts(named, 'id'), ['ascending', 'r.1.9', 'r.1.10'], 'ids sort as numbers');
        assert.deepEqual(await sorts(named, 'id'), ['descending', 'r.1.10', 'r.1.9']);

        await named.getByRole('button', { name: 'copy r.1.9', exact: true }).click();
        await named.getByRole('button', { name: 'copied r.1.9', exact: true }).waitFor();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'r.1.9');
        await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
        await slowest.getByRole('button', { name: 'copy r.1.8', exact: true }).click();
        await page.waitForFunction(() => getSelection()?.toString() === 'r.1.8');

        await page.locator('.setup > summary').press('Enter');
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Messages (CSV)' }).click(),
        ]);
        assert.equal(file.suggestedFilename(), `${run.run.name}.messages.csv`);
        assert.equal(await readFile(await file.path(), 'utf8'), messagesCsv(run));
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
  });

  test('an unbalanced account is red and hides every percentile', async () => {
    await reader.read(golden('unbalanced'), async (page) => {
      assert.match(await text(page, '[role=alert]'), /does not balance: the ends add up to 2,433, 37 fewer/);
      const red = await page.locator('.balance').evaluate((element) => getComputedStyle(element).color);
      assert.equal(red, 'rgb(179, 38, 30)');
      await page.locator('.seconds summary').click();
      // Clock bounds are not latencies, and the glossary is the same for every run.
      await page.locator('.clocks, .glossary').evaluateAll((all) => all.forEach((one) => void one.remove()));
      const words = (await text(page, 'main')).replaceAll(/p\(\d+\)<\d+/g, '');
      assert.doesNotMatch(words, /\bp\d\d|percentile|\d ms\b/);
      assert.doesNotMatch(words, /held/);
    });
  });

  test('targets with losses come first, then the slowest; the rest is folded', async () => {
    const run = golden('failing');
    const { rows = [] } = run.targets ?? {};
    await reader.look('failing', async (page) => {
      const names = page.locator('.targets > .scroll tbody th');
      assert.equal(await names.count(), 10);
      const most = rows.reduce((a, b) => (b.lost > a.lost ? b : a));
      assert.equal(await names.first().textContent(), most.name);
      assert.match(await text(page, '.targets p'), /^\d+ targets? lost messages\. The slowest is /);
      await page.locator('.targets summary').click();
      await page.locator('.targets details tbody tr').first().waitFor(); // the rows are made on opening
      assert.equal(await page.locator('.targets details tbody tr').count(), rows.length);
      assert.ok(rows.length > 10);
    });
    await reader.look('incomplete', async (page) => {
      assert.equal(await page.locator('.targets').count(), 0);
    });
  });

  test('hostile strings stay text', async () => {
    await reader.look('hostile', async (page) => {
      await page.locator('.seconds summary').click();
      assert.equal(await page.locator('img, main b, main script').count(), 0);
      assert.equal(await page.title(), `${HOSTILE} – Arrival report`);
      for (const place of [
        '.verdict .meaning',
        '.phases tbody th',
        '.targets tbody th',
        'pre',
        '.facts dt',
        '.rules tbody th',
      ]) {
        assert.ok((await page.locator(place).allTextContents()).join().includes(HOSTILE), place);
      }
    });
  });

  test('a sweep has charts by concurrency with knee and fit', async () => {
    await reader.look('closed', async (page) => {
      const names = (await charts(page)).map(({ name }) => name);
      assert.deepEqual(names.slice(0, 2), ['Latency by concurrency', 'Throughput by concurrency']);
      assert.ok(!names.includes('Arrival p99'));
      for (const { name, lines } of await charts(page)) {
        if (!/^(Latency by concurrency|HTTP latency)$/.test(name)) continue;
        const patterns = new Set(lines.map(({ pattern }) => pattern));
        assert.equal(patterns.size, lines.length, `${name}: distinguished by colour alone`);
      }
      assert.match(await text(page, '.sweep h3'), /^Knee at 4 VUs: arrival p50 is 4\.74 ms there/);
      assert.deepEqual(await legend(page, 'Throughput by concurrency'), [
        ...['accepted and arrived', 'sent', 'USL fit'],
      ]);
      assert.match(
        await text(page, '.script'),
        /^Figures of sweeptime to drain0\.300 stime until p99 is backnot available/,
      );
    });
    await reader.look('passing', async (page) => {
      assert.equal(await page.locator('.sweep, .script').count(), 0);
    });
  });

  test('spans lie where their times are, and the name of a clock has one line', async () => {
    await reader.read(withSpans(SPANS), async (page) => {
      const lane = page.locator('.waterfall li').nth(2).locator('.lane');
      const [bar, whole] = [await lane.locator('i').boundingBox(), await lane.boundingBox()];
      assert.ok(
        bar && whole && Math.abs((bar.x - whole.x) / whole.width - 30 / 70) < 0.01,
        'it begins at 30 of 70 ms',
      );
      assert.equal(await overflow(page), 0);
      const name = page.locator('#spans dt', { hasText: 'clock of node-a' });
      const lines = await name.evaluate(
        (dt) => dt.clientHeight / Number.parseFloat(getComputedStyle(dt).lineHeight),
      );
      assert.ok(lines < 1.5, `the name of a clock has ${lines} lines`);
    });
  });

  test('spans that are not marks fit the screen', async () => {
    await reader.read(unmarked(), async (page) => {
      assert.equal(await overflow(page), 0);
    });
  });
});
