import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { labelsOf } from '../../pipeline/common/labels.js';
import type { StackFile } from '../../pipeline/stack/file.ts';
import { connectionsAnswer, sessionsAnswer, soakAnswer, spikeAnswer } from '../lib/answers.js';
import { count, type Declaration, flag, number, numbers, read, text } from '../lib/env.js';
import { cost } from '../lib/held.js';
import { drained, restored } from '../lib/recovery.js';
import { columnsOf, formOf, placeOf, rowOf } from '../lib/rows.js';
import type { Stack } from '../lib/stack.js';
import { latencyDrift, memoryGrowth, mostGrowth, sentence, UNKNOWN } from '../lib/steadiness.js';

/** tsc checks that the scripts read the stack.json that the pipeline writes. */
({}) as StackFile satisfies Stack;

const row = (t: number, phase: string | null, backlog: number, p99: number | null) => ({
  t,
  phase,
  backlog,
  arrival: p99 === null ? null : { p99 },
});

test('a pipeline has recovered from a burst once backlog and p99 stay as before', () => {
  const timeline = [
    row(0, 'before', 3, 900), // while connecting
    row(1, 'before', 5, 10),
    row(2, 'spike', 400, 50),
    row(3, 'after', 900, 400),
    row(4, 'after', 5, 15),
    row(5, 'after', 80, 21),
    row(6, 'after', 4, 20),
    row(7, 'after', 2, 11),
    row(8, null, 0, 900),
  ];
  const steps = [
    { name: 'before', start_s: 0, duration_s: 2 },
    { name: 'spike', start_s: 2, duration_s: 1 },
    { name: 'after', start_s: 3, duration_s: 5 },
  ];
  const run = { timeline, steps };
  assert.equal(drained(run, 'before', 'spike'), 3);
  assert.equal(restored(run, 'before', 'spike', 2), 3);
  assert.equal(restored(run, 'before', 'spike', 50), 0);
  assert.equal(restored(run, 'before', 'spike', 1), undefined);
  assert.equal(
    drained({ steps, timeline: [...timeline, row(9, null, 7, null)] }, 'before', 'spike'),
    undefined,
  );
  const silent = timeline.map((r) => (r.t === 7 ? row(7, 'after', 2, null) : r));
  assert.equal(
    restored({ steps, timeline: silent }, 'before', 'spike', 2),
    undefined,
    'a second without an arrival is not recovered',
  );
});

test('an invalid setting is refused with the values that its kind allows', () => {
  const value = (IT: Declaration, given = '') => read({ IT }, { IT: given }).IT;
  const steps = numbers('3,5', '', 'steps');
  const wrong: [kind: Declaration, value: string, message: RegExp][] = [
    [number(1, 's', 'long', { min: 0.1, max: 9 }), 'soon', /^IT is "soon"; allowed: 0\.1 to 9$/],
    [count(1, '', 'many'), '1.5', /^IT is "1\.5"; allowed: whole numbers from 1 to 1e9$/],
    [flag(true, 'so'), 'off', /^IT is "off"; allowed: true, false$/],
    [steps, '20..1', /^IT is "20\.\.1": 20 is above 1; allowed: 1\.\.20, .* from 1 to 10000$/],
    [steps, '0,1', /^IT is "0,1": out of range; allowed: /],
    [steps, '1..9/0', /^IT is "1\.\.9\/0": a step of 0 never ends; allowed: /],
    [steps, '5,5', /^IT is "5,5": not ascending; allowed: /],
    [steps, 'many', /^IT is "many": neither a range nor a list; allowed: /],
    [steps, '1..201', /^IT is "1\.\.201": more than 200 steps; allowed: /],
  ];
  for (const [kind, given, message] of wrong) assert.throws(() => value(kind, given), { message });
  assert.deepEqual([value(number(7, '', '')), value(flag(true, '')), value(steps)], [7, true, [3, 5]]);
  assert.deepEqual(value(steps, '10..100/30'), [10, 40, 70, 100]);
  assert.equal(value(count('', '', '')), undefined);
  assert.deepEqual([value(text('a', '')), value(text('a', '', { empty: true }))], ['a', '']);
});

test('a default may depend on the settings before it', () => {
  const declared = { A: number(4, '', ''), B: number(({ A }) => 2 * Number(A), '', '') };
  assert.deepEqual(read(declared, {}), { A: 4, B: 8 });
  assert.deepEqual(read(declared, { A: '5' }), { A: 5, B: 10 });
  assert.deepEqual(read(declared, { A: '5', B: '1' }), { A: 5, B: 1 });
});

test('labels are name=value, each name once', () => {
  assert.deepEqual(labelsOf(''), {});
  assert.deepEqual(labelsOf('build=17, query=a=b ,branch = main'), {
    build: '17',
    query: 'a=b',
    branch: 'main',
  });
  for (const [text, why] of [
    ['build', '"build" is no name=value'],
    ['build=17,', '"" is no name=value'],
    ['=17', '"=17" is no name=value'],
    ['build=', '"build=" is no name=value'],
    ['build=17,build=18', 'build is given twice'],
  ] as const) {
    assert.throws(() => labelsOf(text), {
      message: `LABELS is "${text}": ${why}; allowed: name=value,name=value, each name once`,
    });
  }
});

test('a burst of less than a second ends with its step, though no row begins in it', () => {
  const timeline = [
    row(0, 'before', 3, 10),
    row(1, 'before', 5, 90),
    row(2, 'after', 400, 50),
    row(3, 'after', 4, 9),
  ];
  const steps = [
    { name: 'before', start_s: 0, duration_s: 1.2 },
    { name: 'spike', start_s: 1.2, duration_s: 0.3 },
    { name: 'after', start_s: 1.5, duration_s: 2.5 },
  ];
  assert.equal(drained({ timeline, steps }, 'before', 'spike'), 1);
  assert.equal(restored({ timeline, steps }, 'before', 'spike', 0.5), 1);
});

test('memory growth is listed by process, largest first', () => {
  const series = (rss: (t: number) => number | null) => Array.from({ length: 100 }, (_, t) => [t, 1, rss(t)]);
  const grown = memoryGrowth(
    [
      { process: 'flat', series: series(() => 70) },
      { process: 'leak', series: series((t) => 50 + t) },
      { process: 'silent', series: series(() => null) },
      { process: 'forgotten', series: series(() => 70).slice(50) },
      { process: 'k6', series: series((t) => 90 - t / 10) },
      {
        process: 'collector',
        series: series((t) => 150 + t),
        figures: { t: [30, 80], gauges: { live_heap_mb: [44, 45], external_mb: [20, 22] } },
      },
      { process: 'sawtooth', series: series((t) => 100 + ((t * 7) % 20)) },
    ],
    100,
  );
  assert.deepEqual(grown, [
    { process: 'leak', mb: 50 },
    { process: 'collector', mb: 3 },
    { process: 'flat', mb: 0 },
    { process: 'sawtooth', mb: 0 },
    { process: 'k6', mb: -5 },
    { process: 'silent', mb: Number.NaN },
    { process: 'forgotten', mb: Number.NaN },
  ]);
  assert.equal(mostGrowth(grown.slice(0, 5)), 50);
  assert.equal(mostGrowth(grown.slice(2, 5)), 0);
  assert.equal(mostGrowth(grown.slice(0, 6)), UNKNOWN, 'one process reported nothing');
  assert.equal(mostGrowth(grown.slice(4, 5)), UNKNOWN, 'only the generator reported');
  assert.equal(mostGrowth([]), UNKNOWN);
});

test('the memory of host and generator does not count as growth of the pipeline', () => {
  const [host, k6, relay] = [
    { process: 'host', mb: 900 },
    { process: 'k6', mb: 300 },
    { process: 'relay-1', mb: 5 },
  ];
  assert.equal(mostGrowth([host, k6, relay]), 5);
  assert.equal(mostGrowth([{ process: 'host', mb: Number.NaN }, k6, relay]), 5);
  assert.equal(mostGrowth([host, k6]), UNKNOWN);
});

test('the line of a step shows n/a for missing figures', () => {
  const arrival = { p50: 0.8123, p99: 1234.5, max: null };
  assert.equal(
    sentence({ name: '3', arrived: 7, scheduled: 9, backlog: null, latency: { arrival } }),
    '3: 9 scheduled, 7 deliveries, p50 0.812 ms, p99 1,234 ms, max n/a ms, backlog n/a',
  );
});

test('latency drift compares medians, so one slow second does not count', () => {
  const timeline = Array.from({ length: 100 }, (_, t) => ({ t, arrival: { p99: t === 80 ? 5000 : t / 10 } }));
  assert.ok(Math.abs(latencyDrift(timeline, 100) - 5) < 0.2);
  assert.ok(Number.isNaN(latencyDrift(timeline.slice(0, 50), 100)), 'nothing arrived in the last half');
  assert.ok(Number.isNaN(latencyDrift([], 100)));
});

test('cost counts memory until all connections are open, and CPU while they are held', () => {
  const series = [
    [0, 50, 100],
    [1, 50, 150],
    [2, 10, 200],
    [3, 30, 300],
    [4, 90, 300],
    [null, 1, 1],
  ];
  const resources = [{ process: 'k6', series }];
  assert.deepEqual(cost(resources, 'k6', 1000, 2, 2), { kb: 100, us: (20 * 10_000) / 1000 });
  assert.deepEqual(cost(resources, 'mosquitto', 10, 2, 2), { kb: Number.NaN, us: Number.NaN });
});

// Regression: no figure was shown with its limit.
test("a script's answer shows each figure with its limit", () => {
  const spike = { rate: 5000, seconds: 10, after: 60, drainLimit: 30, backLimit: 45 };
  assert.match(
    spikeAnswer(spike, { drain: 2, back: 3.25, almost: 9.9 }),
    /5,000 requests\/s for 10 s .* 2 s \(limit 30 s\).* 3.2 s \(limit 45 s\).* 9.9 s/,
  );
  assert.match(
    spikeAnswer(spike, { drain: undefined, back: undefined, almost: null }),
    /did not drain within 1 min.* not back within 1 min.*Less than 99 %/,
  );
  const soak = { hours: 2, rate: 200, driftLimit: 50, growthLimit: 32 };
  assert.match(
    soakAnswer(soak, { ms: 0.4123, mb: 3 }),
    /2 h .* grew by 0.412 ms \(limit 50 ms\).* 3 MB .*\(limit 32 MB\)/,
  );
  assert.match(soakAnswer(soak, { ms: -0.4, mb: 3 }), /p99 fell by 0.400 ms/);
  assert.match(soakAnswer(soak, { ms: Number.NaN, mb: 3 }), /no latency was measured/);
  assert.match(soakAnswer(soak, { ms: 1, mb: UNKNOWN }), /did not report its memory/);
  const held = { wanted: 15_000, seconds: 30, brokers: 1, canaryLimit: 50 };
  assert.match(
    connectionsAnswer(held, { held: 14_990, canary: 4.2 }),
    /14,990 of 15,000 connections for 30 s.* 4.20 ms \(limit 50 ms\)/,
  );
  assert.match(
    connectionsAnswer({ ...held, brokers: 3 }, { held: 1, canary: null }),
    /^3 brokers .*no canary/,
  );
  assert.doesNotMatch(connectionsAnswer(held, { held: 1, canary: undefined }), /canary/);
  const rates = { sessions: 300, requests: 3000 };
  assert.match(
    sessionsAnswer(10, rates, { count: 3000, p50: 0.612, p99: 5.67, max: 9 }),
    /^300 sessions\/s of 10 calls sent 3,000 requests\/s, .* p50 0.612 ms and p99 5.67 ms\.$/,
  );
  assert.match(sessionsAnswer(10, rates, { count: 99, p50: 1, p99: 9, max: 9 }), / and max 9.00 ms\.$/);
  assert.match(sessionsAnswer(10, rates, { count: 0, p50: null, p99: null, max: null }), /requests\/s\.$/);
});

test('the kind of a queue of the user is not that of the pipeline that is up', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'stages-'));
  t.after(() => rm(dir, { recursive: true }));
  const division = '{"shards": 1, "cluster": false, "prefix": "shop"}';
  await writeFile(
    join(dir, 'stack.json'),
    `{"queue": "stream", "division": ${division}, "stages": {"queueUrl": "redis://ours"}}`,
  );
  // As k6 has them.
  const env: Record<string, string> = { STACK_DIR: dir };
  Object.assign(globalThis, { __ENV: env, open: (path: string) => readFileSync(path, 'utf8') });
  const { stages } = await import('../lib/stages.js');
  assert.deepEqual(stages().queue, { url: 'redis://ours', kind: 'stream', prefix: 'shop' });
  Object.assign(env, { QUEUE_URL: 'redis://mine', QUEUE: 'list' });
  assert.deepEqual(stages().queue, { url: 'redis://mine', kind: 'list', prefix: 'arrival' });
  Object.assign(env, { QUEUE_PREFIX: 'mine' });
  assert.equal(stages().queue.prefix, 'mine');
});

test('a CSV file is read with its delimiter and without its byte order mark', () => {
  const forms: [text: string, delimiter: string, from: number][] = [
    ['a,b\n1;2,3', ',', 0],
    ['\ufeffa;b\r\n1;2', ';', 3],
    ['\ufeff"a","b"\n1,2', ',', 3],
    ['a\tb\n1\t2', '\t', 0],
    ['\n\ta\n1\t2', '\t', 0],
    ['a|b\n1|2,3', '|', 0],
    ['a name\n1', ',', 0],
    ['"a:b"\n1', ',', 0],
    ['"a;b",c\n1,2', ',', 0],
    ['"a|""b""",c\n"1\n2",2\n', ',', 0],
    ['"a\nb";c\n1;2\n\n', ';', 0],
  ];
  for (const [text, delimiter, from] of forms) assert.deepEqual(formOf('f', text), { delimiter, from }, text);
  assert.deepEqual(rowOf(columnsOf('f', ['a', 'b '], 2), ['1', '2']), { a: '1', b: '2' });
});

test('a CSV file that cannot be meant is refused with the place', () => {
  const texts: [text: string, says: RegExp][] = [
    ['a,b\nM\ufffdnchen,2', /f\.csv, line 2: not UTF-8/],
    ['\ufffd\ufffda\0,\0b\0', /f\.csv, line 1: not UTF-8/],
    ['a\0,\0b\0\n\0', /f\.csv, line 1: not UTF-8/],
    ['a,b\r1,2\r', /f\.csv: .*CR/],
    ['a,b\n1,2\n\ufeff3,4', /f\.csv, line 3: a byte order mark/],
    ['a,b\r\n1,2\r\n"3\r\n4",5', /f\.csv, line 3: CR and LF in a quoted field/],
    ['a,b;c\n1,2;3', /f\.csv, line 1: "," and ";"/],
    ['a:b\n1:2', /f\.csv, line 1: no column has the name a:b/],
    ['a^b\n1^2', /f\.csv, line 1: no column/],
  ];
  for (const [text, says] of texts) assert.throws(() => formOf('f.csv', text), says);
  const wrong: [rows: string[][], says: RegExp][] = [
    [[], /f\.csv has no row/],
    [[['a', 'b']], /f\.csv has no row/],
    [
      [
        ['a', ''],
        ['1', '2'],
      ],
      /line 1, column 2: the name is empty/,
    ],
    [
      [
        ['a', 'b', 'a '],
        ['1', '2', '3'],
      ],
      /line 1, column 3: a is also column 1/,
    ],
  ];
  for (const [rows, says] of wrong) assert.throws(() => columnsOf('f.csv', rows[0] ?? [], rows.length), says);
});

test('a row with too few or too many columns is named with its line and column', () => {
  const text = '\ufeff\n"a";"b;c"\n"1\n2;";3\n4\n5;6;7\n"8;9';
  const error = (line: number) =>
    placeOf(`record on line ${line}: wrong number of fields`, 'f.csv', text, ';');
  assert.match(error(5), /^f\.csv, line 5: column 2 is missing; allowed: 2 columns/);
  assert.match(error(6), /^f\.csv, line 6: column 3 is one too many/);
  const other = 'record on line 7; parse error on line 7, column 6: extraneous or missing " in quoted-field';
  assert.equal(placeOf(other, 'f.csv', text, ';'), `f.csv: ${other}`);
});
