import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Artillery } from '../artillery.ts';
import { OptionError } from '../pipeline.ts';

const WORKER = 'artillery/dist/lib/platform/local/worker.js';
/** The files of an Artillery as far as the plugin looks at them. */
const FILES: Record<string, string> = {
  'artillery/package.json': '{ "version": "2.1.0", "type": "module" }',
  [WORKER]: "send({ event: 'phaseStarted', phase }); send({ event: 'done', report: 1 });",
  'artillery/dist/lib/core/engine_http.js': "ee.emit('trace:http:request'); ee.emit('trace:http:response');",
  'artillery/dist/lib/core/ssms.js': `export class SSMS {
  static pack() {} static serializeMetrics() {} static deserializeMetrics() {}
  counter() {} histogram() {} aggregate() {} getBucketIds() {} getMetrics() {} stop() {}
}`,
  'arrivals/index.js': 'exports.uniform = { process() {} };',
  'driftless/index.js': 'exports.setDriftlessInterval = () => {};',
};

/** An Artillery with other files. */
function patched(t: TestContext, files: Record<string, string> = {}, speaks = true) {
  const dir = mkdtempSync(join(tmpdir(), 'arrival-artillery-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [name, text] of Object.entries({ ...FILES, ...files })) {
    const file = join(dir, 'node_modules', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const log = t.mock.method(console, 'error', () => {});
  const artillery = new Artillery(speaks, join(dir, 'node_modules', WORKER));
  return { artillery, lines: () => log.mock.calls.map(({ arguments: [line] }) => String(line)) };
}

/** Finds the parts that a run can do without. */
const partsOf = (artillery: Artillery) => [
  artillery.processes('no timers') !== undefined,
  artillery.driftless() !== undefined,
  artillery.store() !== undefined,
];

test('an Artillery that has its inner parts is used without a word', (t) => {
  const { artillery, lines } = patched(t);
  artillery.require();
  assert.deepEqual(partsOf(artillery), [true, true, true]);
  assert.deepEqual(lines(), []);
});

test('one without the events by which a run is measured is refused in one line', (t) => {
  const { 'artillery/dist/lib/core/engine_http.js': engine = '' } = FILES;
  for (const [file, text, says] of [
    [
      'artillery/dist/lib/core/engine_http.js',
      engine.replace('response', 'answer'),
      /trace:http:response in/,
    ],
    [WORKER, "send({ event: 'phaseStarted' })", /event: 'done', report: in .*worker\.js/],
    [WORKER, '', /event: 'phaseStarted' in .*worker\.js/],
  ] as const)
    assert.throws(
      () => patched(t, { [file]: text }).artillery.require(),
      (error: Error) =>
        error instanceof OptionError &&
        says.test(error.message) &&
        /^Artillery 2\.1\.0 has no [^\n]*; allowed: Artillery 2\.0\.\d+$/.test(error.message),
    );
});

test('each other part that is not there is named in one line, and the run goes on without it', (t) => {
  for (const [file, text, found, says] of [
    [
      'arrivals/index.js',
      'exports.even = {};',
      [false, true, true],
      /2\.1\.0 lacks the module arrivals: no timers/,
    ],
    ['driftless/index.js', 'syntax error', [true, false, true], /2\.1\.0 lacks the module driftless/],
    [
      'artillery/dist/lib/core/ssms.js',
      'export class SSMS {}',
      [true, true, false],
      /2\.1\.0 lacks the class SSMS/,
    ],
    ['artillery/dist/lib/core/ssms.js', '', [true, true, false], /no figures of arrival/],
  ] as const) {
    const { artillery, lines } = patched(t, { [file]: text });
    assert.deepEqual(partsOf(artillery), found);
    assert.equal(lines().length, 1);
    assert.match(String(lines()[0]), says);
    t.mock.restoreAll();
  }
});

test('of several threads one says it', (t) => {
  const { artillery, lines } = patched(t, { 'arrivals/index.js': '' }, false);
  assert.deepEqual(partsOf(artillery), [false, true, true]);
  assert.deepEqual(lines(), []);
});
