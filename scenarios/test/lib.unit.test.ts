import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { labelsOf } from '../../pipeline/shared/labels.js';
import type { StackFile } from '../../pipeline/stack/file.ts';
import { scripts } from '../lib/declarations.js';
import { count, countOrNames, type Declaration, flag, number, numbers, read, text } from '../lib/env.js';
import { columnsIn, columnsOf, formOf, placeOf, rowOf } from '../lib/rows.js';
import type { Stack } from '../lib/stack.js';
import { line } from '../lib/words.js';

/** tsc checks that the scripts read the stack.json that the pipeline writes. */
({}) as StackFile satisfies Stack;

test('an invalid setting is refused with the values that its kind allows', () => {
  const value = (IT: Declaration, given = '') => read({ IT }, { IT: given }).IT;
  const steps = numbers('3,5', '', 'steps');
  const wrong: [kind: Declaration, value: string, message: RegExp][] = [
    [number(1, 's', 'long', { min: 0.1, max: 9 }), 'soon', /^IT is "soon"; allowed: 0\.1 to 9$/],
    [count(1, '', 'many'), '1.5', /^IT is "1\.5"; allowed: whole numbers from 1 to 1e9$/],
    [countOrNames('who', 9), '10', /^IT is "10"; allowed: 1 to 9, or names /],
    [countOrNames('who', 9), '1.5', /^IT is "1\.5"; allowed: /],
    [countOrNames('who', 9), 'a,,b', /^IT is "a,,b": an empty name; allowed: /],
    [flag(true, 'so'), 'off', /^IT is "off"; allowed: true, false$/],
    [steps, '20..1', /^IT is "20\.\.1": 20 is above 1; allowed: 1\.\.20, .* from 1 to 10000$/],
    [steps, '0,1', /^IT is "0,1": out of range; allowed: /],
    [steps, '1..9/0', /^IT is "1\.\.9\/0": a step of 0 never ends; allowed: /],
    [steps, '5,5', /^IT is "5,5": not ascending; allowed: /],
    [steps, 'many', /^IT is "many": neither a range nor a list; allowed: /],
    [steps, '1..201', /^IT is "1\.\.201": more than 200 steps; allowed: /],
  ];
  for (const [kind, given, message] of wrong) assert.throws(() => value(kind, given), { message });
  assert.deepEqual(
    [value(countOrNames('who', 9), '7'), value(countOrNames('who', 9), 'a, b')],
    [7, ['a', 'b']],
  );
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
    ['build', '"build" is not name=value'],
    ['build=17,', '"" is not name=value'],
    ['=17', '"=17" is not name=value'],
    ['build=', '"build=" is not name=value'],
    ['build=17,build=18', 'build is given twice'],
  ] as const) {
    assert.throws(() => labelsOf(text), {
      message: `LABELS is "${text}": ${why}; allowed: name=value,name=value, each name once`,
    });
  }
});

test('the line of a step shows n/a for missing figures', () => {
  const arrival = { p50: 0.8123, p99: 1234.5, max: null };
  assert.equal(
    line({ name: '3', arrived: 7, scheduled: 9, backlog: null, latency: { arrival } }),
    '3: 9 scheduled, 7 deliveries, p50 0.812 ms, p99 1,234 ms, max n/a ms, backlog n/a',
  );
});

test('the kind of a queue of the user is not that of the pipeline that is up', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'stages-'));
  t.after(() => rm(dir, { recursive: true }));
  const division = '{"shards": 1, "cluster": false, "prefix": "shop"}';
  await writeFile(
    join(dir, 'stack.json'),
    `{"queue": "stream", "division": ${division}, "stages": {"queueUrl": "redis://ours"}}`,
  );
  // k6 has them in this form.
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

test('the columns of a CSV file, with quotes, any delimiter and any line ends', () => {
  for (const text of [
    'id,city\nd1,"Rome, ""IT"""\nd2,\n',
    '\ufeffid,city\r\nd1,"Rome, ""IT"""\r\n\r\nd2,""',
    'id|city\nd1|"Rome, ""IT"""\nd2|',
    'id\tcity\nd1\tRome, "IT"\nd2\t\n',
  ])
    assert.deepEqual(columnsIn('devices.csv', text), { id: ['d1', 'd2'], city: ['Rome, "IT"', ''] }, text);
  assert.throws(() => columnsIn('devices.csv', 'id,city\nd1\n'), {
    message: 'devices.csv, row 2: 1 columns; allowed: 2, as in the first line',
  });
  assert.throws(() => columnsIn('devices.csv', 'id,city\n'), /has no row/);
});

// Regression: ramp's own limit was as wide, so the gate could never be what fails.
test('gates that documents show after a ramp are closer than its own limit', () => {
  for (const file of ['README.md', 'reports/README.md', 'pipeline/deploy/actions.yml']) {
    const document = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
    const gates = [...document.matchAll(/check latest:ramp --threshold 'arrival\.p99 < (\d+)ms'/g)];
    assert.notEqual(gates.length, 0, file);
    for (const [gate, ms] of gates) assert.ok(Number(ms) < scripts.ramp().P99.fallback, gate);
  }
});
