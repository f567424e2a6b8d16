import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderReport, SLOT } from '../render.ts';
import { GOLDENS, golden } from './goldens.ts';

const TEMPLATE = `<html>${SLOT}<script>page()</script></html>`;

/** What a browser takes for the content of the data element. */
function embedded(html: string): string {
  return html.match(/<script id="run" type="application\/json">(.*?)<\/script>/s)?.[1] ?? '';
}

for (const name of GOLDENS) {
  test(`the page holds the data of ${name} unchanged`, () => {
    const run = golden(name);
    assert.deepEqual(JSON.parse(embedded(renderReport(run, TEMPLATE))), run);
  });
}

test('data cannot end its element, and line separators are escaped', () => {
  const run = golden('passing');
  run.run.name = '</script><!--<script>\u2028\u2029$&$1';
  const html = renderReport(run, TEMPLATE);
  assert.equal(html.match(/<\/script>/g)?.length, 2);
  assert.doesNotMatch(embedded(html), /[<\u2028\u2029]/);
  assert.equal(JSON.parse(embedded(html)).run.name, run.run.name);
});

test('a template without one place for the data is refused', () => {
  for (const template of ['<html></html>', SLOT + SLOT]) {
    assert.throws(() => renderReport(golden('passing'), template), /exactly once/);
  }
});
