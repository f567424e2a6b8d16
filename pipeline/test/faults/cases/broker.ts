import type { Case } from '../case.ts';
import { until } from '../until.ts';

const WINDOW = 1000;
const BATCH = 500;
const persistent = { mqtt: { session: 'persistent' as const } };

export const brokerCases: Case[] = [
  {
    row: 13,
    fault: 'broker stopped and started again, with its persistence; persistent session',
    expected: '0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ persistence: true }, persistent, 8);
      await scene.harm(() => rig.broker.terminate());
      await scene.harm(() => rig.broker.start());
      const run = await scene.settle(load);
      scene.checks.atLeast('gaps of the subscriber', run.health.gaps.length, 1);
      return run;
    },
  },
  {
    row: 14,
    fault: 'broker killed between two saves, with messages for a subscriber who is away',
    expected:
      'what it had acknowledged and not saved is lost: the account shows it, and the run is not green',
    async play(scene) {
      const { rig, load } = await scene.underLoad(
        { persistence: true, broker: { autosave_interval: 1800 } },
        { ...persistent, canary: false },
        8,
      );
      await scene.harm(() => rig.link.subscriberBroker.cut());
      const taken = await rig.taken();
      await until(() => taken.ids.size >= scene.scale.rate / 2, 'the broker takes messages');
      rig.ingest.signal('SIGSTOP');
      await until(async () => (await rig.depth()) === 0, 'the broker acknowledges them all');
      await taken.close();
      await scene.harm(() => rig.broker.kill());
      await scene.harm(() => rig.broker.start());
      await rig.link.subscriberBroker.heal();
      rig.ingest.signal('SIGCONT');
      const run = await scene.settle(load, 'lost');
      scene.checks
        .atLeast('lost, of what the broker had', run.account.lost, taken.ids.size)
        .verdict(run, ['fail', 'invalid']);
      return run;
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
      await scene.harm(() => rig.broker.terminate());
      await scene.wait(outage);
      const claimed = (await rig.claimed()).length;
      const depth = await rig.depth();
      await scene.harm(() => rig.broker.start());
      const run = await scene.settle(load);
      scene.checks
        .atMost('claimed meanwhile', claimed, rig.relays.length * (WINDOW + BATCH))
        .atLeast('in Redis meanwhile', depth, claimed + 1)
        .atLeast('slowest, ms', run.latency.arrival.max ?? 0, 1000 * outage);
      return run;
    },
  },
  {
    row: 16,
    fault: 'PUBACKs vanish',
    expected: 'after a deadline the relay connects again and publishes again; no id is stuck, 0 lost',
    async play(scene) {
      const { rig, load } = await scene.underLoad({ relay: { MQTT_TIMEOUT_MS: '2000' } }, {}, 10);
      for (const link of rig.link.relayBroker) await scene.harm(() => link.swallow('down'));
      await scene.wait(4);
      for (const link of rig.link.relayBroker) await link.heal();
      const run = await scene.settle(load);
      scene.checks.atLeast('duplicates', run.account.duplicates, 1);
      return run;
    },
  },
  {
    row: 36,
    fault: "messages over the broker's message_size_limit beside a load",
    expected: 'each is a dead letter at once; no reconnection, 0 duplicates, 0 lost',
    async play(scene) {
      const limit = 100_000;
      const { rig, load } = await scene.underLoad({ broker: { message_size_limit: limit } }, {}, 8);
      const ids = ['large-1', 'large-2'];
      for (const id of ids) {
        const message = { id, target: 'probe/1', payload: 'x'.repeat(2 * limit) };
        await scene.harm(() => rig.post(message));
      }
      const deadLetters = () => rig.inRedis((redis) => redis.xlen('arrival:dead-letters'));
      await scene.harm(() => until(async () => (await deadLetters()) >= ids.length, 'dead letters'));
      const run = await scene.settle(load);
      const away = rig.relays.flatMap(({ process }) =>
        process.lastLines.filter((line) => /the broker is away/.test(line)),
      );
      scene.checks
        .same('dead letters', await deadLetters(), ids.length)
        .same('reconnections', away.length, 0)
        .none(run, 'duplicates');
      return run;
    },
  },
];
