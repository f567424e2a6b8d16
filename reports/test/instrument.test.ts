import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ms } from '../format.ts';
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

  test('the summary leads to the section on trust', async () => {
    await reader.look('passing', async (page) => {
      await page.locator('.health a').click();
      assert.ok(await page.locator('#trust').evaluate((it) => it.getBoundingClientRect().top < innerHeight));
    });
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
