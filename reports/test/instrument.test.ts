import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { validateRun } from '../contract/validate.ts';
import { ms } from '../page/format.ts';
import { Reader } from './browser.ts';
import { golden } from './goldens.ts';
import { legend, painted, text } from './looking.ts';

const OVER_TIME = ['Messages', 'Deliveries', 'Backlog', 'Arrival latency'];

describe('the instrument on the page', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  test('a stage with the bound of its clocks is marked', async () => {
    const run = golden('passing');
    const { stages } = run.facts.journey;
    const short = stages.filter(({ name }) => ['request', 'delivery'].includes(name));
    for (const stage of short) stage.bound_ms = 0.25;
    await reader.read(run, async (page) => {
      const marked = await page.locator('.stages tbody tr:has(abbr) th').allTextContents();
      assert.equal(marked.length, short.length);
      for (const [i, { name }] of short.entries()) assert.ok(marked[i]?.trim().startsWith(name), name);
      assert.match(
        await text(page, '.stages'),
        /±: a stage between two processes, known only to within the clock bound/,
      );
      const [cell] = await page.locator('.stages tbody td:has(abbr)').allTextContents();
      assert.equal(cell, `${ms(short[0]?.p50_ms)} ±${ms(0.25)}`);
    });
  });

  test('the summary has lateness, CPU, canary, clock bound and other exceeded limits', async () => {
    const line = (page: Page) => page.locator('.health > *').allTextContents();
    const figures =
      /^Instrument\|✓ lateness p99 \S+ ms \(limit ≤ \S+ ms\)\|✓ CPU mean \S+ %, too busy in 0 of 5\d s \(limit ≤ \S+ s\)\|canary 50 of 50 arrived \(on a connection of its own\)\|clock bound ±\S+ ms \(one host, one clock\)$/;
    const run = golden('passing');
    await reader.look('passing', async (page) => {
      assert.match((await line(page)).join('|').replaceAll('\u00a0', ' '), figures);
      await page.locator('.health a').click();
      assert.ok(await page.locator('#trust').evaluate((it) => it.getBoundingClientRect().top < innerHeight));
    });
    for (const check of run.facts.instrument) {
      if (check.what === 'lateness')
        Object.assign(check, { ok: false, figure: 'p99 1,000 ms', doubts: 'puts in doubt: arrival' });
      if (check.what === 'discarded') Object.assign(check, { ok: false, figure: '3' });
    }
    await reader.read(run, async (page) => {
      const worries = await page.locator('.health .worry').allTextContents();
      assert.deepEqual(
        worries.map((text) => text.replaceAll('\u00a0', ' ').split(' (')[0]),
        ['✕ lateness p99 1,000 ms', '✕ discarded 3'],
      );
      assert.match(worries[0] ?? '', /puts in doubt: arrival$/);
    });
  });

  test('a merged run has a row and a clock for each generator', async () => {
    const run = golden('passing');
    const common = {
      segment: '0:1/2',
      reasons: [],
      late_ms: 0,
      scheduled: 12,
      arrived: 11,
      clock_offset_ms: 0.25,
    };
    const more = {
      schedule_p99_ms: 1.5,
      socket_wait_p99_ms: 0.5,
      cpu_percent_max: 42,
      cores: 4,
      kernel: '6.1',
      clock_bound_ms: 0.125,
    };
    run.generators = [
      { number: 1, result: 'pass', ...common, ...more },
      {
        number: 2,
        result: 'missing',
        ...common,
        ...more,
        segment: '1/2:1',
        scheduled: null,
        schedule_p99_ms: null,
      },
    ];
    await reader.read(run, async (page) => {
      const table = page.locator('table', { has: page.locator('caption', { hasText: /^Generators: / }) });
      const rows = await table.locator('tbody tr').allTextContents();
      assert.deepEqual(rows, ['10:1/2pass12111.500.5004246.10', '21/2:1missing–11–0.5004246.10']);
      assert.match(await text(page, '.clocks'), /k6-1\s*0\.250\s*0\.125\s*k6-2\s*0\.250/);
    });
    assert.deepEqual(validateRun(run), []);
  });

  test('the canary has a sentence, a chart beside the load and a table column', async () => {
    const run = golden('passing');
    await reader.look('passing', async (page) => {
      assert.match(await text(page, '#trust .canary'), /^The canary sends one message a second/);
      assert.match(await text(page, '.checks'), /canary.*50 of 50 arrived.*p50 /);
      assert.deepEqual(await legend(page, 'Canary'), ['arrival p50', 'canary']);
      assert.equal(await page.locator('#trust .chart').count(), 1);
      assert.ok((await painted(page, 'Canary', '--canary')) > 50);
      await page.locator('.seconds summary').click();
      const last = page.locator('.seconds thead th').last();
      assert.equal(await last.textContent(), 'canarydue here, ms');
      const cells = await page.locator('.seconds tbody td:last-child').allTextContents();
      assert.deepEqual(
        cells,
        run.timeline.map(({ canary_ms }) => ms(canary_ms)),
      );
    });
    await reader.look('without-stages', async (page) => {
      assert.equal(await page.locator('.canary').count(), 0);
      await page.locator('.seconds summary').click();
      assert.doesNotMatch(await text(page, '.seconds'), /canary/);
    });
  });

  test('a single canary between two missing ones is drawn', async () => {
    const run = golden('passing');
    for (const second of run.timeline) if (second.t !== 20) second.canary_ms = null;
    await reader.read(run, async (page) => {
      assert.ok((await painted(page, 'Canary', '--canary')) > 8);
    });
  });

  test('the instrument has each figure with its result, and the clocks of all processes', async () => {
    const run = golden('gap');
    await reader.look('gap', async (page) => {
      const rows = page.locator('.checks tbody tr');
      assert.deepEqual(
        await rows.locator('td:last-child').allTextContents(),
        run.facts.instrument.map(
          ({ ok, doubts }) => `${ok === null ? '–' : ok ? '✓ ok' : '✕ exceeded'}${doubts}`,
        ),
      );
      const exceeded = page.locator('.checks tbody tr:has(.worry) th');
      assert.deepEqual(
        (await exceeded.allTextContents()).map((what) => what.match(/^(gaps|discarded|clock bound)/)?.[0]),
        ['gaps', 'discarded', 'clock bound'],
      );
      assert.deepEqual(await page.locator('.clocks tbody th').allTextContents(), [
        'k6',
        'ingest-1',
        'relay-1',
      ]);
      assert.match(
        await text(page, '.clocks'),
        /differ by 0\.019 ms at most, the sum of the two widest bounds \(limit 0\.010 ms\)\. k6 compared its clock 52 times; it drifted by −1\.4 ppm\./,
      );
      assert.match(await text(page, '.account'), /1,300 sent, 3 repeated/);
      assert.equal(await page.locator('.verdict strong').textContent(), 'invalid');
    });
  });

  test('the page judges nothing: verdict and results come from the run', async () => {
    const run = golden('passing');
    run.health.samples_discarded = 5;
    await reader.read(run, async (page) => {
      assert.equal(await page.locator('.checks .worry').count(), 0);
      assert.equal(await page.locator('.verdict strong').textContent(), 'pass');
    });
  });

  test('a gap is shaded in every chart over time, and listed in a table', async () => {
    const run = golden('gap');
    await reader.look('gap', async (page) => {
      for (const title of [...OVER_TIME, 'CPU', 'Mean of each stage']) {
        const pixels = await painted(page, title, '--gap');
        assert.ok(pixels > 500, `${title}: ${pixels}`);
      }
      assert.equal(await painted(page, 'Latency by percentile', '--gap'), 0);
      assert.match(await text(page, 'main'), /Red: a subscriber had no connection/);
      assert.match(await text(page, 'main'), /20:031\.4 sthe broker closed the connection/);
    });
    const [gap] = run.health.gaps;
    assert.ok(gap);
    gap.to_s = null;
    await reader.read(run, async (page) => {
      assert.match(await text(page, 'main'), /20:03never came back/);
      assert.ok((await painted(page, 'Messages', '--gap')) > 0);
    });
    await reader.look('passing', async (page) => {
      assert.equal(await painted(page, 'Messages', '--gap'), 0);
      assert.doesNotMatch(await text(page, 'main'), /Red: /);
    });
  });

  test('the closed model omits figures that equal another: scheduled and from send', async () => {
    await reader.look('closed', async (page) => {
      assert.match(await text(page, '.meta'), / · closed model · /);
      assert.match(await text(page, '#latency'), /A message is due when it is sent/);
      assert.deepEqual(await legend(page, 'Messages'), ['accepted']);
      assert.deepEqual(await legend(page, 'Latency by percentile'), ['arrival', 'HTTP']);
      const heads = await page.locator('thead th').allTextContents();
      assert.ok(heads.includes('arrivalsent → arrived') && heads.includes('sentmessages/s'), heads.join());
      assert.ok(!heads.some((head) => head.startsWith('from send')), heads.join());
      assert.deepEqual(await page.locator('.phases small:last-child').allTextContents(), [
        ...['4 VUs, not measured', '1 VU', '4 VUs', '16 VUs', '32 VUs'],
      ]);
    });
    await reader.look('passing', async (page) => {
      assert.doesNotMatch(await text(page, '.meta'), /closed/);
      assert.deepEqual(await legend(page, 'Messages'), ['scheduled', 'accepted']);
      assert.deepEqual(await legend(page, 'Latency by percentile'), ['arrival', 'from send', 'HTTP']);
    });
  });
});
