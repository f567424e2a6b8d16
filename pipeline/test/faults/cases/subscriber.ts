import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { readConfig, StackConfig } from '../../../shared/config.ts';
import { Stack } from '../../../stack/stack.ts';
import type { Case, Scene } from '../case.ts';
import type { Rig } from '../rig.ts';
import { until } from '../until.ts';

/** The broker's own count of what it dropped; it reports once a second. */
async function droppedByBroker(rig: Rig): Promise<{ count(): number; close(): Promise<void> }> {
  const client = await mqtt.connectAsync(rig.brokerUrls.subscriber, { protocolVersion: 5 });
  let dropped: number | undefined;
  client.on('message', (_topic, payload) => {
    dropped = Number(payload.toString());
  });
  await client.subscribeAsync('$SYS/broker/publish/messages/dropped');
  await until(() => dropped !== undefined, 'the broker reports its counters');
  return { count: () => dropped ?? 0, close: () => client.endAsync(true) };
}

/** A subscriber that reads too slowly for a while; lost is what the broker dropped. */
async function slowSubscriber(scene: Scene, qos: 0 | 1) {
  const rig = await scene.rig({
    relay: { MQTT_QOS: String(qos) },
    broker: { max_queued_messages: 500, max_inflight_messages: 20 },
  });
  const dropped = await droppedByBroker(rig);
  const before = dropped.count();
  const load = await scene.load(rig, { mqtt: { qos }, canary: false, fill: 2000 }, 8);
  await load.flowing(2);
  await scene.harm(() => rig.link.subscriberBroker.throttle(20, 'down'));
  await until(() => dropped.count() > before + 100, 'the broker drops');
  await rig.link.subscriberBroker.heal();
  const run = await scene.settle(load, 'lost');
  await until(() => dropped.count() - before >= run.account.lost, 'the broker reports all', 5000).catch(
    () => {},
  );
  scene.checks
    .atLeast('lost', run.account.lost, 1)
    .same("lost, and the broker's own count", run.account.lost, dropped.count() - before)
    .verdict(run, ['fail', 'invalid', ...(qos === 0 ? (['pass'] as const) : [])]);
  await dropped.close();
  return run;
}

/** The subscriber loses its connection for 2 s. */
async function gap(scene: Scene, session: 'clean' | 'persistent') {
  const { rig, load } = await scene.underLoad({}, { mqtt: { session } }, 8);
  await scene.harm(() => rig.link.subscriberBroker.cut());
  await scene.wait(2);
  await rig.link.subscriberBroker.heal();
  return scene.settle(load, ...(session === 'clean' ? (['lost'] as const) : []));
}

export const subscriberCases: Case[] = [
  {
    row: 17,
    fault: 'slow subscriber, QoS 0',
    expected: "lost is exactly the growth of the broker's own count of what it dropped",
    play: (scene) => slowSubscriber(scene, 0),
  },
  {
    row: 18,
    fault: "slow subscriber, QoS 1, past the broker's queue limit",
    expected: 'the same, though every PUBLISH was acknowledged; the run is not green',
    play: (scene) => slowSubscriber(scene, 1),
  },
  {
    row: 19,
    fault: 'subscriber without its connection for 2 s, clean and persistent session',
    expected: 'clean: the gap is lost and reported; persistent: nothing is lost',
    async play(scene) {
      const clean = await gap(scene, 'clean');
      const seconds = clean.health.gaps.reduce(
        (most, { from_s, to_s }) => Math.max(most, (to_s ?? 0) - from_s),
        0,
      );
      const due = seconds * scene.scale.rate;
      scene.checks
        .atLeast('lost in a clean session', clean.account.lost, due / 2)
        .atMost('lost in a clean session', clean.account.lost, due * 1.5)
        .verdict(clean, ['invalid'], /without (its|a) connection|had no connection|gap/);
      const run = await gap(scene, 'persistent');
      scene.checks.atLeast('gaps of the persistent session', run.health.gaps.length, 1);
      return run;
    },
  },
  {
    row: 20,
    fault: "another client takes the subscriber's client id",
    expected: 'noticed; the latencies of the run are in doubt',
    async play(scene) {
      const { rig, load } = await scene.underLoad(
        { broker: { connection_messages: 'true' } },
        { canary: false },
        8,
      );
      const log = await readFile(join(rig.dir, 'mosquitto.log'), 'utf8');
      const [, clientId] = [...log.matchAll(/ as (\S+) \(p5, .*u'subscriber'\)/g)].at(-1) ?? [];
      if (clientId === undefined) throw new Error('the broker did not report the subscriber’s client id');
      const rival = await scene.harm(() =>
        mqtt
          .connect(rig.brokerUrls.subscriber, { clientId, protocolVersion: 5, reconnectPeriod: 200 })
          .on('error', () => {}),
      );
      const run = await scene.settle(load, 'lost');
      await rival?.endAsync(true);
      scene.checks.doubted(run, 'arrival').atLeast('gaps', run.health.gaps.length, 1);
      return run;
    },
  },
  {
    row: 21,
    fault: 'the broker gives the subscriber nothing to read',
    expected: 'the round trip that proves readiness fails, in words, before any load',
    async play(scene) {
      const rig = await scene.rig({ relays: 0 });
      const settings = {
        STACK_DIR: join(rig.dir, 'stack'),
        INGEST_PORT: '0',
        MQTT_PORT: '0',
        LOG_LEVEL: 'info',
        ...(await scene.harm(() => ({ MQTT_URL: rig.brokerUrls.relay }))), // who may write, and not read
      };
      await mkdir(settings.STACK_DIR, { mode: 0o700 });
      const words = await Stack.start(readConfig(StackConfig, { ...settings, REDIS_PORT: '0' })).then(
        async (stack) => {
          await stack.stop(0);
          return 'it started';
        },
        (error: Error) => error.message,
      );
      scene.checks.holds('the stack says', words, words.includes('did not arrive'));
      return undefined;
    },
  },
];
