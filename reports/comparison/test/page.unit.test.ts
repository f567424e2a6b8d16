/** What the page of a comparison says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { comparisonPage, text, texts } from '../../test/rendering.ts';
import { compare } from '../compare.ts';

const recording = (run: Run) => ({ run, histograms: new Map() });

test('additional tables are shown, with their markup as text', () => {
  const rows = [['<b>p50</b>', '1.0', '±0.2']];
  const head = ['figure', 'k6', 'allowed'];
  const additions = [{ title: 'Agreement', caption: 'ms', head, rows, notes: ['They do.'] }];
  const comparison = { ...compare([golden('passing'), golden('passing')].map(recording)), additions };
  const section = comparisonPage(comparison)
    .querySelectorAll('section')
    .find((one) => one.querySelector('h2')?.textContent === 'Agreement');
  assert.ok(section);
  assert.deepEqual(texts(section, 'tbody tr > *'), rows[0]);
  assert.deepEqual(texts(section, 'p'), ['They do.']);
});

test('a comparison of runs without HTTP does not call their requests HTTP', () => {
  const runs = ['mqtt-a', 'mqtt-b'].map((name) => {
    const run = golden('passing');
    Object.assign(run.run, { name, protocol: 'MQTT' });
    return run;
  });
  const shown = text(comparisonPage(compare(runs.map(recording))), 'main');
  assert.match(shown, /MQTT by percentile[\s\S]*MQTT mean/);
  assert.doesNotMatch(shown, /HTTP/);
});

test('differences of latencies are in ms beside the ratios', () => {
  const slower = golden('failing');
  const shown = comparisonPage(compare([golden('passing'), slower].map(recording), { allowFailed: true }));
  assert.match(text(shown, '.differences'), /arrival p99[\d.,\s→]+ms×916\+4,016\sms/);
});

test('runs that are not comparable are refused in a line, and have no empty charts', () => {
  const shown = comparisonPage(compare([golden('unbalanced'), golden('unbalanced')].map(recording)));
  assert.match(text(shown, '.outcome'), /not comparable: run is invalid, repeat it$/);
  assert.equal(shown.querySelectorAll('.chart, .differences table').length, 0);
});

test('the differences of two undecided runs without an interval are a line', () => {
  const section = comparisonPage(compare([golden('gap'), golden('gap')].map(recording))).querySelector(
    '.differences',
  );
  assert.ok(section);
  assert.match(text(section, 'p'), /^B against A: both are undecided/);
  assert.equal(section.querySelector('table'), null);
});
