import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../contract/run.ts';
import { renderReport, SLOT, shownRun } from '../render.ts';
import { GOLDENS, golden } from './goldens.ts';

const TEMPLATE = `<html>${SLOT}<script>page()</script></html>`;

/** A copy without histograms. */
function bare(run: Run): Run {
  return JSON.parse(JSON.stringify(run, (key, value) => (key === 'histogram' ? null : value)));
}

for (const name of GOLDENS) {
  test(`the page holds the data of ${name} unchanged`, () => {
    const run = golden(name);
    const shown = shownRun(renderReport(run, TEMPLATE));
    assert.deepEqual(shown.latency, run.latency);
    assert.deepEqual(bare(shown), bare(run));
  });
}

test('data cannot end its element', () => {
  const run = golden('passing');
  run.run.name = '</script><!--<script>\u2028\u2029$&$1';
  const html = renderReport(run, TEMPLATE);
  assert.equal(html.match(/<\/script>/g)?.length, 2);
  assert.match(html, /<script id="run" type="application\/json">"[\w+/=]+"<\/script>/);
  assert.equal(shownRun(html).run.name, run.run.name);
});

test('the histograms of the whole are in the page, those of its parts are not', () => {
  const run = golden('passing');
  run.latency.arrival.histogram = 'whole';
  const [step] = run.steps;
  assert.ok(step && run.canary);
  step.latency.stages.queue.histogram = 'part';
  run.canary.latency.histogram = 'part';
  const shown = shownRun(renderReport(run, TEMPLATE));
  assert.equal(shown.latency.arrival.histogram, 'whole');
  assert.equal(shown.steps[0]?.latency.stages.queue.histogram, null);
  assert.equal(shown.canary?.latency.histogram, null);
  assert.equal(run.canary.latency.histogram, 'part', 'run.json keeps them');
});

test('a template without one place for the data is refused', () => {
  for (const template of ['<html></html>', SLOT + SLOT]) {
    assert.throws(() => renderReport(golden('passing'), template), /exactly once/);
  }
});
