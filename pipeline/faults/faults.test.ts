import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { remove, temporaryDirectory } from '../test/services.ts';
import { CASES, equation, play, seen } from './campaign.ts';
import { buildToxiproxy } from './toxiproxy.ts';

const SCALE = { rate: 500, messages: 3000, outage: 3, flood: 3 };
const never = Promise.withResolvers<never>().promise;

before(() => buildToxiproxy());

// One of each server and one of a relay, each with a pipeline of its own; the others are for `npm run faults`.
describe('rows of the campaign', { concurrency: true }, () => {
  for (const row of [2, 10, 13]) {
    const one = CASES.find((candidate) => candidate.row === row);
    test(`row ${row}: ${one?.fault}`, async (t) => {
      assert.ok(one);
      const dir = await temporaryDirectory();
      t.after(() => remove(dir));
      const result = await play(one, SCALE, dir, never);
      assert.ok(result.ok, `${seen(result)} · ${equation(result.account)}`);
    });
  }
});

test('each row is there once, with words for it', () => {
  const rows = CASES.map(({ row }) => row);
  assert.equal(new Set(rows).size, rows.length);
  for (const { fault, expected } of CASES) assert.ok(fault.length > 0 && expected.length > 0);
});
