import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { test } from 'node:test';
import schema from '../contract/run.schema.json' with { type: 'json' };
import { validateRun } from '../contract/validate.ts';
import { GOLDENS, golden } from './goldens.ts';

for (const name of GOLDENS) {
  test(`golden run ${name} is valid`, () => assert.deepEqual(validateRun(golden(name)), []));
}

test('every golden run is tested and smaller than 150 KB', () => {
  const files = readdirSync(new URL('../testdata', import.meta.url));
  assert.deepEqual(files.sort(), GOLDENS.map((name) => `${name}.json`).sort());
  for (const file of files) {
    assert.ok(statSync(new URL(`../testdata/${file}`, import.meta.url)).size < 150_000, file);
  }
});

/** A passing run with one field set. */
function changed(path: string, value: unknown): unknown {
  const run = golden('passing');
  const keys = path.split('.');
  const last = keys.pop() as string;
  // biome-ignore lint/suspicious/noExplicitAny: any field of any depth
  const parent = keys.reduce((node: any, key) => node[key], run);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return run;
}

for (const [path, value, line] of [
  ['account.lost', 'three', 'account.lost: must be integer, not "three"'],
  ['account.lost', -1, 'account.lost: must be >= 0, not -1'],
  ['account.scheduled', 1e300, 'account.scheduled: must be <= 9007199254740991, not 1e+300'],
  ['account.lost', undefined, 'account: lost is missing'],
  ['account.extra', 1, 'account: extra is not a field of it'],
  ['latency.arrival.p99', '8 ms', 'latency.arrival.p99: must be number or null, not "8 ms"'],
  ['account.requests.retried', undefined, 'account.requests: retried is missing'],
  ['clock.processes.1.bound_ms', -1, 'clock.processes[1].bound_ms: must be >= 0, not -1'],
  ['canary.sent', 49.5, 'canary.sent: must be integer, not 49.5'],
  ['canary.interval_s', 0, 'canary.interval_s: must be > 0, not 0'],
  ['health.gaps', null, 'health.gaps: must be array, not null'],
  ['health.trend_one_in', 0, 'health.trend_one_in: must be >= 1, not 0'],
  ['run.model', 'half', 'run.model: must be one of open, closed, not "half"'],
  ['run.profile.phases.0.vus', 1.5, 'run.profile.phases[0].vus: must be integer or null, not 1.5'],
  ['timeline.3.canary_ms', undefined, 'timeline[3]: canary_ms is missing'],
  ['targets', undefined, 'targets is missing'],
  ['timeline.3.due', undefined, 'timeline[3]: due is missing'],
  ['account.misdelivered', undefined, 'account: misdelivered is missing'],
  ['timeline.3.backlog', null, 'timeline[3].backlog: must be integer, not null'],
  ['targets.rows.0.lost', null, 'targets.rows[0].lost: must be integer, not null'],
  ['verdict.result', 'green', 'verdict.result: must be one of pass, fail, invalid, incomplete, not "green"'],
  ['schema', 'arrival/run/2', 'schema: must be "arrival/run/1", not "arrival/run/2"'],
  ['run.started', 'yesterday', 'run.started: must match format "date-time", not "yesterday"'],
] as const) {
  test(`names the field: ${line}`, () => assert.deepEqual(validateRun(changed(path, value)), [line]));
}

test('every integer has a minimum, and a maximum that a double holds exactly', () => {
  const bounds: [string, unknown, unknown][] = [];
  JSON.stringify(schema, (key, value) => {
    if ([value?.type].flat().includes('integer')) bounds.push([key, value.maximum, value.minimum]);
    return value;
  });
  assert.ok(bounds.length > 10);
  for (const [name, maximum, minimum] of bounds) {
    assert.equal(maximum, Number.MAX_SAFE_INTEGER, name);
    assert.equal(typeof minimum, 'number', name);
  }
});

test('a value that is not an object is refused', () => {
  assert.deepEqual(validateRun(null), ['must be object, not null']);
  assert.deepEqual(validateRun([]), ['must be object, not a list']);
});

for (const [path, value] of [
  ['canary', null],
  ['targets', null],
  ['targets.others', { targets: 3, arrival: null, reordered: 0, lost: 1 }],
  ['health.socket_wait', null],
  ['health.gaps', [{ subscriber: 4, from_s: 2.5, to_s: null, reason: 'EOF' }]],
  ['clock.limit_ms', 1],
  ['clock.processes', []],
  ['timeline.3.canary_ms', null],
  ['environment.pipeline', { queue: 'stream', relay_workers: 2, tcp_nodelay: true }],
  ['resources.0.figures', null],
  [
    'resources.0.figures',
    { bin_s: 12, t: [0, 12], gauges: { cs: [1.5, null] }, counts: { accepted: [7, 0] } },
  ],
] as const) {
  test(`valid: ${path} ${JSON.stringify(value)}`, () =>
    assert.deepEqual(validateRun(changed(path, value)), []));
}

test('additional environment facts are valid', () => {
  assert.deepEqual(validateRun(changed('environment.redis', '7.0.15')), []);
});
