import { FAILED } from '../../../../reports/contract/run.ts';
import type { Case } from '../case.ts';
import { until } from '../until.ts';
import { WallClock } from '../wall-clock.ts';

const LEASE_MS = 3000;

/** Rows in which Redis' clock, the reference of all stamps, steps. */
export const clockCases: Case[] = [
  {
    row: 35,
    fault: "Redis' clock steps an hour ahead, then ten minutes back with a killed relay's messages pending",
    expected: "nobody takes over from a living relay; the dead one's messages arrive after the lease; 0 lost",
    async play(scene) {
      const clock = await WallClock.make();
      try {
        const relay = { RELAY_LEASE_MS: String(LEASE_MS) };
        const { rig, load } = await scene.underLoad({ relay, redisClock: clock }, { idle: '60s' }, 20);
        // Relays hold messages while the broker is away: those are what an hour makes look abandoned.
        // A relay that holds none when its broker goes away claims none until it is back.
        await until(async () => {
          for (const link of rig.link.relayBroker) await link.cut();
          await scene.wait(0.5);
          const held = await Promise.all([rig.claimed('relay-1'), rig.claimed('relay-2')]);
          if (held.every(({ length }) => length > 0)) return true;
          for (const link of rig.link.relayBroker) await link.heal();
          await scene.wait(0.5);
          return false;
        }, 'both relays hold messages');
        await scene.harm(() => clock.set(3600));
        await scene.wait((1.5 * LEASE_MS) / 1000);
        const holders = await Promise.all([rig.claimed('relay-1'), rig.claimed('relay-2')]);
        for (const link of rig.link.relayBroker) await link.heal();
        await scene.wait(2);
        await scene.harm(() => rig.linksOf(0).broker.swallow('up'));
        await until(async () => (await rig.claimed('relay-1')).length >= 100, 'relay-1 holds messages');
        await scene.harm(() => rig.relay(0).kill());
        await scene.harm(() => clock.set(3000));
        const since = performance.now();
        await until(async () => (await rig.claimed('relay-1')).length === 0, 'relay-2 takes over');
        const took = performance.now() - since;
        const run = await load.result();
        const { account } = run;
        scene.checks
          .holds('account', account.balanced ? 'balances' : 'does not balance', account.balanced)
          .none(run, ...FAILED)
          .holds(
            'each relay keeps its own',
            holders.map(({ length }) => length).join(' and '),
            holders.every(({ length }) => length > 0),
          )
          .atMost('duplicates', account.duplicates, 1000)
          .holds(
            'the step is reported',
            run.errors.map(({ stage }) => stage).join(),
            run.errors.some(({ stage }) => stage === 'clock'),
          )
          .atLeast(
            'least stage, ms',
            Math.min(...Object.values(run.latency.stages).map(({ min }) => min ?? 0)),
            -200,
          )
          .atMost('taken over after, ms', took, 4 * LEASE_MS)
          .atLeast('slowest, ms', run.latency.arrival.max ?? 0, LEASE_MS);
        return run;
      } finally {
        await clock.remove();
      }
    },
  },
];
