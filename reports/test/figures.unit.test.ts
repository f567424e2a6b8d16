import assert from 'node:assert/strict';
import { test } from 'node:test';
import { styleOf } from '../page/chart-series.ts';
import { csv, hlog, messagesCsv } from '../page/download.ts';
import { binStart, heatRange, merged } from '../page/heat.ts';
import { golden } from './goldens.ts';

test('21 lines of one chart differ, and neighbours differ even without colour', () => {
  const styles = Array.from({ length: 21 }, (_, i) => styleOf(i));
  assert.equal(new Set(styles.map(({ colour, dash }) => `${colour} ${dash}`)).size, 21);
  assert.ok(styles.every(({ dash }, i) => i === 0 || i % 7 === 0 || dash !== styles[i - 1]?.dash));
});

test('the heat range covers the bins of all columns, and merging adds up neighbours', () => {
  assert.equal(binStart(30), 1);
  const columns = [
    { start: 0, end: 1, bins: [30, 5, 0, 2] },
    { start: 1, end: 2, bins: null },
    { start: 2, end: 3, bins: [29, 1, 1] },
  ];
  assert.deepEqual(heatRange(columns), [binStart(29), binStart(33)]);
  assert.deepEqual(heatRange([]), [0.1, 1]);
  assert.deepEqual(merged(columns, 3), columns);
  assert.deepEqual(merged(columns, 1), [{ start: 0, end: 3, bins: [29, 1, 6, 0, 2] }]);
  assert.deepEqual(merged([columns[1] as (typeof columns)[1]], 0)[0]?.bins, null);
});

test('the bins of a second add up to its arrivals', () => {
  for (const { arrived, arrival_bins } of golden('passing').timeline) {
    const [, ...counts] = arrival_bins ?? [0];
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      arrived,
    );
  }
});

test('the timeline CSV has a line per second and escapes formulas', () => {
  const run = golden('passing');
  const [second] = run.timeline;
  assert.ok(second);
  second.phase = '=cmd("x"),1';
  const lines = csv(run).split('\r\n');
  assert.equal(lines.length, run.timeline.length + 2);
  const heads = (lines[0] ?? '').split(',');
  assert.deepEqual(heads.slice(0, 3), ['t', 'phase', 'requests']);
  assert.ok(heads.includes('arrival_p99_ms') && heads.includes('queue_mean_ms'));
  assert.ok(lines[1]?.startsWith(`0,"'=cmd(""x""),1",${second.requests},`), lines[1]);
  const cells = (lines[2] ?? '').split(',');
  assert.equal(cells[heads.indexOf('arrival_p99_ms')], String(run.timeline[1]?.arrival?.p99));
  for (const key of ['due', 'in_flight', 'late_max_ms'] as const)
    assert.equal(cells[heads.indexOf(key)], String(run.timeline[1]?.[key]), key);
});

test('the messages CSV has a line per message, a column per stage and empty cells for unknown values', () => {
  const run = golden('passing');
  assert.equal(messagesCsv({ ...run, messages: { slowest: [], named: [] } }), null);
  const at = { target: '=user/1', flow: 'a,b', phase: 'ramp', due: '2026-11-21T09:48:10.000001Z' };
  run.messages = {
    slowest: [
      {
        ...at,
        id: 'r.1.7',
        trace: 'a7',
        subscriber: 1,
        arrival_ms: 300.5,
        longest: null,
        stages_ms: { queue: 300, relay: 0.5 },
      },
    ],
    named: [{ ...at, id: 'r.1.9', end: 'lost', phase: null, due: null, delivered: 0 }],
  };
  assert.deepEqual(messagesCsv(run)?.split('\r\n'), [
    'list,id,end,target,flow,phase,due,subscriber,arrival_ms,' +
      'schedule_ms,request_ms,ingest_ms,queue_ms,relay_ms,delivery_ms,delivered,trace',
    `slowest,r.1.7,,"'=user/1","a,b",ramp,${at.due},1,300.5,,,,300,0.5,,,a7`,
    `named,r.1.9,lost,"'=user/1","a,b",,,,,,,,,,,0,`,
    '',
  ]);
});

test('the histogram log exists if the run has histograms', () => {
  const run = golden('passing');
  assert.equal(hlog(run), null);
  run.latency.arrival.histogram = 'HISTFAAA';
  const lines = hlog(run)?.split('\n') ?? [];
  assert.ok(lines.includes('#[Histogram log format version 1.3]'));
  assert.match(lines.at(-2) ?? '', /^Tag=arrival,0\.000000,51\.279000,\d+\.\d{6},HISTFAAA$/);
});
