import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { remove, temporaryDirectory } from '../../test/services.ts';
import { buildToxiproxy } from '../toxiproxy.ts';
import { CASES, equation, play, seen } from './campaign.ts';
import type { Case, Scene } from './case.ts';
import type { Rig } from './rig.ts';

const SCALE = { rate: 500, messages: 3000, outage: 3, flood: 3 };
const never = Promise.withResolvers<never>().promise;

before(() => buildToxiproxy());

// One case for each server and one for a relay; `npm run faults` runs the others.
describe('rows of the campaign', { concurrency: 2 }, () => {
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

  // Regression: a case passed although no claim was unseen, or the killed broker held no messages.
  for (const [row, missing] of [
    [6, 'claimed by a lost reply'],
    [14, 'lost, of what the broker had'],
  ] as const) {
    test(`row ${row} fails its checks without its fault`, async (t) => {
      const one = CASES.find((candidate) => candidate.row === row);
      assert.ok(one);
      const dir = await temporaryDirectory();
      t.after(() => remove(dir));
      const result = await play(one, SCALE, dir, never, true);
      assert.equal(result.error, null);
      const wrong = result.checks.filter(({ ok }) => !ok).map(({ what }) => what);
      assert.ok(wrong.includes(missing), seen(result));
    });
  }
});

// Regression: its directory was removed while servers started there, and these kept running.
test('a case interrupted while its pipeline starts stops that pipeline before it ends', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const interruption = Promise.withResolvers<never>();
  let made: Promise<Rig> | undefined;
  let scene: Scene | undefined;
  const one: Case = {
    row: 0,
    fault: '',
    expected: '',
    play: (its) => {
      scene = its;
      made = its.rig({ relays: 0 });
      interruption.reject(new Error('interrupted'));
      return never;
    },
  };
  const { error } = await play(one, SCALE, dir, interruption.promise);
  assert.equal(error, 'interrupted');
  const rig = (await made) as Rig;
  for (const member of [rig.redis, rig.broker, rig.ingest]) assert.ok(!member.process.alive, member.name);
  await assert.rejects(rig.redis.start(), /^Error: redis is not started: the case is over$/);
  await assert.rejects(rig.load(1, 1), /the case is over$/);
  assert.throws(() => scene?.rig(), /^Error: the case is over$/);
});

test('each row exists once and has a description', () => {
  const rows = CASES.map(({ row }) => row);
  assert.equal(new Set(rows).size, rows.length);
  for (const { fault, expected } of CASES) assert.ok(fault.length > 0 && expected.length > 0);
});
