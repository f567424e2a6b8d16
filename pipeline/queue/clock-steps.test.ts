/** Redis' clock steps: no relay takes what a living one holds, and a dead one's messages wait for one lease. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { WallClock } from '../../scenarios/campaigns/faults/wall-clock.ts';
import { eventually, HERE, startRedis } from '../test/services.ts';
import { openQueue } from './open.ts';
import { messagesOf } from './queue.ts';

const LEASE_MS = 400;
const skip = spawnSync('cc', ['--version']).status === 0 ? false : 'there is no C compiler (cc)';

/** A Redis whose clock can step, and a message that the relay `living` holds. */
async function held(t: TestContext) {
  const clock = await WallClock.make();
  t.after(() => clock.remove());
  const within = ['env', ...Object.entries(clock.environment).map(([name, value]) => `${name}=${value}`)];
  const server = await startRedis(undefined, { ...HERE, within });
  t.after(() => server.service.remove());
  const queue = openQueue('stream', { url: server.url, timeoutMs: 20_000 });
  t.after(() => queue.close());
  await queue.whenReady(20_000);
  await queue.append([{ body: '{"id":"1"}', target: 'a', stamps: '' }]);
  const { entries } = await queue.claim('living', 1);
  const ids = entries.map(({ id }) => id);
  const look = () => queue.recover('heir', LEASE_MS, 1);
  const renew = () => queue.renew('living', ids);
  return { clock, queue, look, renew };
}

test('entries that a relay claims again are not taken from it', { skip }, async (t) => {
  const { queue, look } = await held(t);
  const since = performance.now();
  while (performance.now() - since < 4 * LEASE_MS) {
    assert.equal(messagesOf((await queue.recoverUnseen('living', 1, () => false)).entries), 1);
    assert.deepEqual((await look()).entries, []);
  }
  await eventually(async () => messagesOf((await look()).entries) === 1, 'what is claimed no more');
});

const HOUR = 3600;
// Regression: a delivery in the future had an idle time of 0, again and again, so no renewal showed.
for (const [name, ofRenewal, ofLook] of [
  ['ahead at each renewal, and back at each look', HOUR, 0],
  ['back at each renewal, and ahead at each look', 0, HOUR],
] as const) {
  test(`a clock that is ${name} takes nothing from a living relay`, { skip }, async (t) => {
    const { clock, look, renew } = await held(t);
    const since = performance.now();
    while (performance.now() - since < 4 * LEASE_MS) {
      clock.set(ofRenewal);
      await renew();
      clock.set(ofLook);
      assert.deepEqual((await look()).entries, []);
    }
    await eventually(async () => messagesOf((await look()).entries) === 1, 'what is renewed no more');
  });
}
