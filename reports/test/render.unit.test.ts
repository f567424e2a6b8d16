import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataOf, fillPage, SLOT } from '../render.ts';

const TEMPLATE = `<html>${SLOT}<script>page()</script></html>`;

test('data cannot close its script element', () => {
  const data = { name: '</script><!--<script>\u2028\u2029$&$1' };
  const html = fillPage(JSON.stringify(data), TEMPLATE);
  assert.equal(html.match(/<\/script>/g)?.length, 2);
  assert.match(html, /<script id="run" type="application\/json">"[\w+/=]+"<\/script>/);
  assert.deepEqual(dataOf(html), data);
});

test('a template without exactly one slot for the data is refused', () => {
  for (const template of ['<html></html>', SLOT + SLOT]) {
    assert.throws(() => fillPage('{}', template), /exactly once/);
  }
});
