import type { Case } from '../case.ts';
import { until } from '../until.ts';

const LEASE_MS = 2000;
/** `RELAY_WINDOW`'s default. */
const WINDOW = 1000;
const relay = { RELAY_LEASE_MS: String(LEASE_MS) };

const ending = (ended: { how: string; ms: number } | undefined) =>
  ended === undefined ? 'was not stopped' : `${ended.how} after ${Math.round(ended.ms)} ms`;

export const relayCases: Case[] = [
  {
    row: 1,
    fault: 'relay killed after a claim, before it publishes',
    expected: 'redelivered after the lease, 0 lost; the wait is in the latency',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ relay });
      await scene.harm(() => rig.linksOf(0).broker.swallow('up'));
      await until(async () => (await rig.claimed('relay-1')).length >= 100, 'relay-1 holds messages');
      await scene.harm(() => rig.relay(0).kill());
      const run = await scene.settle(load);
      scene.checks
        .atMost('duplicates', run.account.duplicates, WINDOW)
        .atLeast('slowest, ms', run.latency.arrival.max ?? 0, LEASE_MS);
      return run;
    },
  },
  {
    row: 2,
    fault: 'relay killed after the PUBACK, before it acknowledges to Redis',
    expected: 'duplicates, the window at most; 0 lost',
    async play(scene) {
      // Long enough that nobody takes over from relay-1 before it is killed, and short enough that somebody does during the load.
      const { rig, load } = await scene.underLoad({ relay: { RELAY_LEASE_MS: '4000' } }, {}, 14);
      const { ids: taken } = await rig.taken();
      const { redis } = rig.linksOf(0);
      const holds = async () => rig.claimed('relay-1');
      await scene.harm(async () => {
        for (;;) {
          await redis.swallow('up');
          // By then Redis has the acknowledgements in flight.
          await scene.wait(0.5);
          if ((await holds()).length > 0) break;
          // Its next claim did not reach Redis either, so it repeats it after the reconnection.
          await redis.heal();
          await until(async () => (await holds()).length > 0, 'relay-1 claims again');
        }
        await until(
          async () => (await holds()).some((id) => taken.has(id)),
          'the broker has what relay-1 holds',
        );
        await rig.relay(0).kill();
      });
      const run = await scene.settle(load);
      scene.checks
        .atLeast('duplicates', run.account.duplicates, 1)
        .atMost('duplicates', run.account.duplicates, WINDOW);
      return run;
    },
  },
  {
    row: 3,
    fault: 'relay gets SIGTERM under load',
    expected: 'finishes what is in flight, ends within its grace; 0 lost, 0 duplicates',
    async play(scene) {
      const { rig, load } = await scene.underLoad();
      const ended = await scene.harm(() => rig.relay(0).terminate());
      const run = await scene.settle(load);
      scene.checks
        .none(run, 'duplicates')
        .holds('relay-1', ending(ended), ended?.how.endsWith('code 0') === true && ended.ms < 10_000);
      return run;
    },
  },
  {
    row: 4,
    fault: 'relay gets SIGTERM while the broker is away',
    expected: 'ends by its deadline; messages stay in Redis; 0 lost',
    async play(scene) {
      const grace = 2000;
      const { rig, load } = await scene.underLoad({ relay: { RELAY_GRACE_MS: String(grace), ...relay } });
      for (const link of rig.link.relayBroker) await scene.harm(() => link.cut());
      const waiting = scene.scale.rate / 2;
      await until(async () => (await rig.depth()) >= waiting, 'messages wait for the broker');
      const ended = await scene.harm(() => rig.relay(0).terminate());
      const depth = await rig.depth();
      for (const link of rig.link.relayBroker) await link.heal();
      const run = await scene.settle(load);
      scene.checks
        .holds('relay-1', ending(ended), ended?.how.includes('SIGKILL') === false && ended.ms < grace + 6000)
        .atLeast('in Redis then', depth, waiting)
        .atMost('duplicates', run.account.duplicates, 2 * WINDOW);
      return run;
    },
  },
  {
    row: 5,
    fault: 'relay frozen (SIGSTOP) for longer than its lease, then going on',
    expected: 'another relay takes over; 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ relay }, {}, 10);
      await scene.harm(() => rig.relay(0).signal('SIGSTOP'));
      // The stopped relay has messages at the latest when Redis answers its pending claim.
      await until(async () => (await rig.claimed('relay-1')).length > 0, 'relay-1 holds messages');
      await scene.wait(LEASE_MS / 1000);
      await until(async () => (await rig.claimed('relay-1')).length === 0, 'another relay takes over');
      rig.relay(0).signal('SIGCONT');
      const run = await scene.settle(load);
      scene.checks
        .atMost('duplicates', run.account.duplicates, WINDOW)
        .atLeast('slowest, ms', run.latency.arrival.max ?? 0, LEASE_MS);
      return run;
    },
  },
];
