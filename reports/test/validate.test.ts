import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { validateRun } from '../validate.ts';
import { GOLDENS, golden } from './goldens.ts';

for (const name of GOLDENS) {
  test(`golden run ${name} is valid`, () => assert.deepEqual(validateRun(golden(name)), []));
}

test('every golden run is tested, and small', () => {
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
  ['account.lost', undefined, 'account: lost is missing'],
  ['account.extra', 1, 'account: extra is not a field of it'],
  ['latency.arrival.p99', '8 ms', 'latency.arrival.p99: must be number or null, not "8 ms"'],
  ['timeline.3.backlog', null, 'timeline[3].backlog: must be integer, not null'],
  ['verdict.result', 'green', 'verdict.result: must be one of pass, fail, invalid, incomplete, not "green"'],
  ['schema', 'arrival/run/2', 'schema: must be "arrival/run/1", not "arrival/run/2"'],
  ['run.started', 'yesterday', 'run.started: must match format "date-time", not "yesterday"'],
] as const) {
  test(`names the field: ${line}`, () => assert.deepEqual(validateRun(changed(path, value)), [line]));
}

test('says of anything else that it is no run', () => {
  assert.deepEqual(validateRun(null), ['must be object, not null']);
  assert.deepEqual(validateRun([]), ['must be object, not []']);
});

test('further facts of the environment are allowed', () => {
  assert.deepEqual(validateRun(changed('environment.redis', '7.0.15')), []);
});
