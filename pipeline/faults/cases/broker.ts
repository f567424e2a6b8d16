import type { Case } from '../case.ts';

const WINDOW = 1000;
const BATCH = 500;
const persistent = { mqtt: { session: 'persistent' as const } };

export const brokerCases: Case[] = [
  {
    row: 13,
    fault: 'broker stopped and started again, with its persistence; persistent session',
    expected: '0 lost',
    async play(scene) {
      const rig = await scene.rig({ persistence: true });
      const load = await scene.load(rig, persistent, 8);
      await load.flowing(2);
      await rig.broker.terminate();
      await rig.broker.start();
      const run = await scene.settle(load, 'lost', 'queued', 'dead_lettered', 'rejected', 'unknown');
      return { checks: scene.checks, run };
    },
  },
  {
    row: 14,
    fault: 'broker killed between two saves',
    expected: 'loss is possible: the account shows it, and the run is not green',
    async play(scene) {
      const rig = await scene.rig({ persistence: true, broker: { autosave_interval: 1800 } });
      const load = await scene.load(rig, persistent, 8);
      await load.flowing(2);
      await rig.broker.kill();
      await rig.broker.start();
      const run = await scene.settle(load, 'queued', 'dead_lettered', 'rejected', 'unknown');
      scene.checks.verdict(run, ['fail', 'invalid']);
      return { checks: scene.checks, run };
    },
  },
  {
    row: 15,
    fault: 'broker down for 30 s',
    expected: 'in flight bounded, the backlog waits in Redis, the outage is in the latency; 0 lost',
    async play(scene) {
      const { outage } = scene.scale;
      const rig = await scene.rig({ persistence: true });
      const load = await scene.spread(rig, outage + 8, { ...persistent, idle: '60s', drain: '120s' });
      await load.flowing(3);
      await rig.broker.terminate();
      await scene.wait(outage);
      const claimed = await rig.claimed();
      const depth = await rig.depth();
      await rig.broker.start();
      const run = await scene.settle(load, 'lost', 'queued', 'dead_lettered', 'rejected', 'unknown');
      scene.checks
        .atMost('claimed meanwhile', claimed, rig.relays.length * (WINDOW + BATCH))
        .atLeast('in Redis meanwhile', depth, claimed + 1)
        .atLeast('slowest, ms', run.latency.arrival.max ?? 0, 1000 * outage);
      return { checks: scene.checks, run };
    },
  },
  {
    row: 16,
    fault: 'PUBACKs vanish',
    expected: 'after a deadline the relay connects again and publishes again; no id is stuck, 0 lost',
    async play(scene) {
      const rig = await scene.rig({ relay: { MQTT_TIMEOUT_MS: '2000' } });
      const load = await scene.load(rig, {}, 10);
      await load.flowing(2);
      for (const link of rig.link.relayBroker) await link.swallow('down');
      await scene.wait(4);
      for (const link of rig.link.relayBroker) await link.heal();
      const run = await scene.settle(load, 'lost', 'queued', 'dead_lettered', 'rejected', 'unknown');
      scene.checks.atLeast('duplicates', run.account.duplicates, 1);
      return { checks: scene.checks, run };
    },
  },
];
