import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Run, Spans, StageRow } from '../contract/run.ts';
import { validateRun } from '../contract/validate.ts';
import { Reader } from './browser.ts';
import { HOSTILE } from './golden.ts';
import { golden } from './goldens.ts';
import { overflow, text, violations } from './looking.ts';
import { printed } from './printing.ts';

const stage = (from: string, to: string, mean: number, bound = 0) => ({
  ...{ from, to, mean, error: mean / 10, p50: mean, p99: 2 * mean, max: 3 * mean, bound },
});

const span = (name: string, depth: number, start_ms: number, end_ms: number) => ({
  ...{ service: 'api', name, kind: 'server', depth, start_ms, end_ms },
});

/** A pipeline with two marks, on a host whose clock the traces bound. */
const SPANS: Spans = {
  one_in: 100,
  listen: '127.0.0.1:4318',
  received: {
    requests: 9,
    refused: 1,
    spans: 930,
    own: 900,
    linked: 20,
    others: 7,
    malformed: 2,
    dropped: 1,
  },
  sampled: 310,
  traced: 305,
  count: 300,
  marks: [
    {
      mark: 'received',
      span: 'start of the server',
      used: true,
      seen: 305,
      missing: 0,
      twice: 0,
      disordered: 0,
    },
    { mark: 'claimed', span: HOSTILE, used: true, seen: 302, missing: 3, twice: 2, disordered: 0 },
    { mark: 'published', span: 'start of …', used: false, seen: 4, missing: 0, twice: 0, disordered: 0 },
  ],
  stages: [
    ...[stage('due', 'sent', 0.1), stage('sent', 'received', 0.4, 0.2)],
    ...[stage('received', 'claimed', 6), stage('claimed', 'arrived', 3.5, 0.2)],
  ],
  arrival: stage('due', 'arrived', 10),
  difference: { mean: 0.5, p50: 0.4, p99: null },
  clocks: [
    { host: 'node-a', offset_ms: -20.1, bound_ms: 0.2, basis: 'traces' },
    { host: HOSTILE, offset_ms: 0, bound_ms: 0, basis: 'same host' },
  ],
  slowest: Array.from({ length: 10 }, (_, i) => ({
    id: `r.1.${i}`,
    trace: `${i}`.padStart(32, 'a'),
    arrival_ms: 60 - i,
    stages_ms: [0.1, 10, 40, 9.9 - i],
    spans: [span('POST /messages', 0, 10, 12), span(HOSTILE, 1, 30, 70)],
  })),
};

/** What Go makes of spans. */
const FACTS = {
  span_stages: SPANS.stages.map(
    (one): StageRow => ({
      ...{ name: `${one.from} → ${one.to}`, from: one.from, to: one.to, says: '', count: SPANS.count },
      ...{ mean_ms: one.mean, error_ms: one.error, p50_ms: one.p50, p99_ms: one.p99, max_ms: one.max },
      ...{ share: (one.mean ?? 0) / 10, slow_share: null, slow_mean_ms: null },
      bound_ms: one.bound > 0 ? one.bound : null,
    }),
  ),
  span_head: '300 of 310 deliveries of sampled messages (one in 100) have stages, by 920 spans',
  span_left: '5 without a span, 3 without "claimed"',
};

/** The passing run with spans, and what follows from them. */
function withSpans(spans: Spans, facts: Partial<Run['facts']> = FACTS): Run {
  const run = golden('passing');
  return { ...run, spans, facts: { ...run.facts, ...facts } };
}

describe('stages by spans', () => {
  let reader: Reader;
  before(async () => {
    reader = await Reader.start();
  });
  after(() => reader?.close());

  test('the page has the stages, what was left out, the clocks, and the slowest as waterfalls', async () => {
    const run = withSpans(SPANS);
    assert.deepEqual(validateRun(run), []);
    await reader.read(run, async (page) => {
      const shown = await text(page, '#spans');
      for (const part of [
        ...[
          /300 of 310 deliveries of sampled messages \(one in 100\) have stages, by 920 spans/,
          /sum of the means10\.0/,
        ],
        ...[/0\.4.* ±0\.2/, /5 without a span, 3 without "claimed"/],
        ...[
          /clock of node-a−20\.1 ±0\.2/,
          /published \(4\)/,
          /7 of other traces, 2 malformed/,
          /1 request refused/,
        ],
      ])
        assert.match(shown, part);
      assert.equal(await page.locator('#spans tbody tr').count(), 4);
      assert.equal(await page.locator('.waterfall').count(), 10);
      assert.equal(await page.locator('.waterfall[open]').count(), 3);
      const lane = page.locator('.waterfall li').nth(2).locator('.lane');
      const [bar, whole] = [await lane.locator('i').boundingBox(), await lane.boundingBox()];
      assert.ok(
        bar && whole && Math.abs((bar.x - whole.x) / whole.width - 30 / 70) < 0.01,
        'it begins at 30 of 70 ms',
      );
      assert.equal(
        await page.locator('.waterfall .copy').first().getAttribute('aria-label'),
        `copy ${'0'.padStart(32, 'a')}`,
      );
      assert.equal(await overflow(page), 0);
      assert.deepEqual(await violations(page), []);
      const name = page.locator('#spans dt', { hasText: 'clock of node-a' });
      const lines = await name.evaluate(
        (dt) => dt.clientHeight / Number.parseFloat(getComputedStyle(dt).lineHeight),
      );
      assert.ok(lines < 1.5, `the name of a clock has ${lines} lines`);
      // Regression: the heading of the waterfalls stood alone on paper.
      const sheets = (await printed(page)).map((sheet) => sheet.text).join(' ');
      assert.match(sheets, /The slowest sampled messages .{0,4}60\.0 ms · r\.1\.0 .*58\.0 ms · r\.1\.2 /);
      assert.doesNotMatch(sheets, /57\.0 ms · r\.1\.3/);
    });
  });

  test('without stamps, spans give the stages', async () => {
    const run = withSpans(SPANS);
    Object.assign(run.facts.journey, {
      source: 'spans',
      stages: FACTS.span_stages,
      samples: 300,
      mean_ms: 10,
    });
    await reader.read(run, async (page) => {
      assert.equal(await page.locator('.stages').count(), 0);
      assert.match(await text(page, '#stages'), /carried no stamps of the stages\..*By the pipeline/);
      assert.match(await text(page, '.journey'), /of 300 sampled deliveries.*received → claimed\s*60\s%/);
    });
  });

  test('spans that are joined later, and spans that are no marks', async () => {
    const none = { stages: [], marks: [], count: 0, slowest: [], listen: '' };
    const waiting = { ...SPANS, ...none, received: { ...SPANS.received, requests: 0 } };
    await reader.read(
      withSpans(waiting, { span_head: '310 deliveries, no spans so far', span_stages: [] }),
      async (page) => {
        assert.match(await text(page, '#spans'), /310 deliveries, no spans so far\./);
        assert.equal(await page.locator('#spans .beside').count(), 0);
      },
    );
    const slowest = SPANS.slowest.map((one) => ({ ...one, stages_ms: [] }));
    const unmarked = withSpans({ ...SPANS, ...none, slowest }, { ...FACTS, span_stages: [] });
    assert.deepEqual(validateRun(unmarked), []);
    await reader.read(unmarked, async (page) => {
      assert.match(await text(page, '#spans'), /deliveries of sampled messages.*--suggest proposes/);
      assert.equal(await page.locator('.waterfall').count(), 10);
      const first = page.locator('.waterfall li').first().locator('.lane i');
      assert.equal(await first.count(), 1, 'the whole time, not divided');
      assert.equal(await overflow(page), 0);
    });
  });
});
