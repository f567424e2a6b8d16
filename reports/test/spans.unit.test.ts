/** What the page says of stages by spans. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateRun } from '../contract/validate.ts';
import { runPage, text, texts } from './rendering.ts';
import { FACTS, SPANS, unjoined, unmarked, withSpans } from './spans.ts';

test('the page has the stages, what was left out, the clocks, and the slowest as waterfalls', () => {
  const run = withSpans(SPANS);
  assert.deepEqual(validateRun(run), []);
  const page = runPage(run);
  const shown = text(page, '#spans');
  for (const part of [
    /300 of 310 deliveries of sampled messages \(one in 100\) have stages, by 920 spans/,
    /sum of the means10\.0/,
    /0\.4.* ±0\.2/,
    /5 without a span, 3 without "claimed"/,
    /clock of node-a−20\.1 ±0\.2/,
    /published \(4\)/,
    /7 of other traces, 2 malformed/,
    /1 request refused/,
  ])
    assert.match(shown, part);
  assert.equal(texts(page, '#spans tbody tr').length, 4);
  assert.equal(texts(page, '.waterfall').length, 10);
  assert.equal(texts(page, '.waterfall[open]').length, 3);
  assert.equal(
    page.querySelector('.waterfall .copy')?.getAttribute('aria-label'),
    `copy ${'0'.padStart(32, 'a')}`,
  );
});

test('without stamps, spans give the stages', () => {
  const run = withSpans(SPANS);
  Object.assign(run.facts.journey, {
    source: 'spans',
    stages: FACTS.span_stages,
    samples: 300,
    mean_ms: 10,
  });
  const page = runPage(run);
  assert.equal(texts(page, '.stages').length, 0);
  assert.match(text(page, '#stages'), /carried no stamps of the stages\..*By the pipeline/);
  assert.match(text(page, '.journey'), /of 300 sampled deliveries.*received → claimed\s*60\s%/);
});

test('the page says that spans are joined later', () => {
  const page = runPage(unjoined());
  assert.match(text(page, '#spans'), /310 deliveries, no spans so far\./);
  assert.equal(texts(page, '#spans .beside').length, 0);
});

test('spans that are not marks are shown whole, and marks are proposed', () => {
  const run = unmarked();
  assert.deepEqual(validateRun(run), []);
  const page = runPage(run);
  assert.match(text(page, '#spans'), /deliveries of sampled messages.*--suggest proposes/);
  assert.equal(texts(page, '.waterfall').length, 10);
  const [first] = page.querySelectorAll('.waterfall li');
  assert.equal(first?.querySelectorAll('.lane i').length, 1, 'the whole time, not divided');
});
