import type { Case } from '../case.ts';
import type { Rig } from '../rig.ts';
import { until } from '../until.ts';

const LEASE_MS = 2000;
const SHARDS = { STREAM_SHARDS: '4' };
const LIST = { QUEUE: 'list' };

/** Lets Redis take nothing more, or all again. */
const fill = (rig: Rig) => rig.inRedis((redis) => redis.config('SET', 'maxmemory', '1'));
const free = (rig: Rig) => rig.inRedis((redis) => redis.config('SET', 'maxmemory', '0'));

/** Rows in which Redis is above its maxmemory: it refuses what may need memory, and must still be drained. */
export const fullCases: Case[] = [
  {
    row: 32,
    fault:
      'Redis above its maxmemory for longer than a lease, with shards; a relay killed and started again meanwhile',
    expected: 'relays go on draining and are ready; 0 lost',
    async play(scene) {
      const rig = await scene.rig({ ingest: SHARDS, relay: { ...SHARDS, RELAY_LEASE_MS: String(LEASE_MS) } });
      for (const relay of rig.relays) relay.signal('SIGSTOP');
      const load = await scene.load(rig, { idle: '60s', senders: 32, maxSenders: 32 }, 10);
      await until(async () => (await rig.depth()) > 1000, 'messages wait');
      await scene.harm(() => fill(rig));
      await scene.harm(() => until(async () => (await rig.post()).status === 503, 'the ingest refuses'));
      const before = await rig.depth();
      for (const relay of rig.relays) relay.signal('SIGCONT');
      await scene.harm(() => rig.relay(0).kill());
      await scene.harm(() => rig.relay(0).start());
      await scene.wait((2 * LEASE_MS) / 1000);
      // Acknowledged messages are gone from a queue that gets no new ones.
      const drained = await until(async () => (await rig.depth()) === 0, 'an empty queue').then(
        () => true,
        () => false,
      );
      const answer = await rig.post();
      const after = await rig.depth();
      await free(rig);
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .atLeast('in the queue when it was full', before, 1000)
        .holds('then', drained ? 'drained' : `${after} wait`, drained)
        .holds('answer meanwhile', `${answer.status}`, answer.status === 503)
        .atLeast('rejected', run.account.rejected, 1);
      return run;
    },
  },
  {
    row: 37,
    fault: 'relay gets SIGTERM with QUEUE=list while Redis is full and the broker away',
    expected: 'what it holds goes back into the list within the grace; 0 lost',
    async play(scene) {
      const grace = 1000;
      const rig = await scene.rig({ ingest: LIST, relay: { ...LIST, RELAY_GRACE_MS: String(grace) } });
      const load = await scene.load(rig, { idle: '60s', senders: 32, maxSenders: 32 }, 8);
      await load.flowing(2);
      for (const link of rig.link.relayBroker) await link.cut();
      await until(async () => (await rig.depth()) >= scene.scale.rate / 2, 'messages wait for the broker');
      await scene.harm(() => fill(rig));
      const before = await rig.depth();
      const ended = await scene.harm(() => rig.relay(0).terminate());
      const words = rig.relay(0).process.lastLines.join(' ');
      const after = await rig.depth();
      await free(rig);
      for (const link of rig.link.relayBroker) await link.heal();
      const run = await scene.settle(load, 'rejected');
      scene.checks
        .holds('relay-1', ended?.how ?? 'was not stopped', ended?.how.endsWith('code 0') === true)
        .holds(
          'it says',
          words.includes('back in the queue') ? 'back' : words,
          /are back in the queue/.test(words),
        )
        .atLeast('in the list after it', after, before + 1);
      return run;
    },
  },
];
