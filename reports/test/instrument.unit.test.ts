/** What the page says of the instrument. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateRun } from '../contract/validate.ts';
import { ms } from '../format.ts';
import { golden } from './goldens.ts';
import { runPage, tableOf, text, texts } from './rendering.ts';

test('a stage with the bound of its clocks is marked', () => {
  const run = golden('passing');
  const { stages } = run.facts.journey;
  const short = stages.filter(({ name }) => ['request', 'delivery'].includes(name));
  for (const stage of short) stage.bound_ms = 0.25;
  const page = runPage(run);
  const marked = texts(page, '.stages tbody tr:has(abbr) th');
  assert.equal(marked.length, short.length);
  for (const [i, { name }] of short.entries()) assert.ok(marked[i]?.trim().startsWith(name), name);
  assert.match(
    text(page, '.stages'),
    /±: a stage between two processes, known only to within the clock bound/,
  );
  assert.equal(text(page, '.stages tbody td:has(abbr)'), `${ms(short[0]?.p50_ms)} ±${ms(0.25)}`);
});

test('the summary has lateness, CPU, canary, clock bound and other exceeded limits', () => {
  const figures =
    /^Instrument\|✓ lateness p99 \S+ ms \(limit ≤ \S+ ms\)\|✓ CPU mean \S+ %, too busy in 0 of 5\d s \(limit ≤ \S+ s\)\|canary 50 of 50 arrived \(on a connection of its own\)\|clock bound ±\S+ ms \(one host, one clock\)$/;
  const run = golden('passing');
  assert.match(texts(runPage(run), '.health > *').join('|'), figures);
  for (const check of run.facts.instrument) {
    if (check.what === 'lateness')
      Object.assign(check, { ok: false, figure: 'p99 1,000 ms', doubts: 'puts in doubt: arrival' });
    if (check.what === 'discarded') Object.assign(check, { ok: false, figure: '3' });
  }
  const worries = texts(runPage(run), '.health .worry');
  assert.deepEqual(
    worries.map((one) => one.split(' (')[0]),
    ['✕ lateness p99 1,000 ms', '✕ discarded 3'],
  );
  assert.match(worries[0] ?? '', /puts in doubt: arrival$/);
});

test('a merged run has a row and a clock for each generator', () => {
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
  assert.deepEqual(validateRun(run), []);
  const page = runPage(run);
  assert.deepEqual(texts(tableOf(page, 'Generators: '), 'tbody tr'), [
    '10:1/2pass12111.500.5004246.10',
    '21/2:1missing–11–0.5004246.10',
  ]);
  assert.match(text(page, '.clocks'), /k6-1\s*0\.250\s*0\.125\s*k6-2\s*0\.250/);
});

test('the instrument has each figure with its result, and the clocks of all processes', () => {
  const run = golden('gap');
  const page = runPage(run);
  assert.deepEqual(
    texts(page, '.checks tbody tr td:last-child'),
    run.facts.instrument.map(
      ({ ok, doubts }) => `${ok === null ? '–' : ok ? '✓ ok' : '✕ exceeded'}${doubts}`,
    ),
  );
  assert.deepEqual(
    texts(page, '.checks tbody tr:has(.worry) th').map(
      (what) => what.match(/^(gaps|discarded|clock bound)/)?.[0],
    ),
    ['gaps', 'discarded', 'clock bound'],
  );
  assert.deepEqual(texts(page, '.clocks tbody th'), ['k6', 'ingest-1', 'relay-1']);
  assert.match(
    text(page, '.clocks'),
    /differ by 0\.019 ms at most, the sum of the two widest bounds \(limit 0\.010 ms\)\. k6 compared its clock 52 times; it drifted by −1\.4 ppm\./,
  );
  assert.match(text(page, '.account'), /1,300 sent, 3 repeated/);
  assert.equal(text(page, '.verdict h2'), 'invalid');
});

test('the page judges nothing: verdict and results come from the run', () => {
  const run = golden('passing');
  run.health.samples_discarded = 5;
  const page = runPage(run);
  assert.deepEqual(texts(page, '.checks .worry'), []);
  assert.equal(text(page, '.verdict h2'), 'pass');
});
