import { randomBytes } from 'node:crypto';
import closeWithGrace from 'close-with-grace';
import { Clock } from '../clock.ts';
import { ConfigError, RelayConfig, readConfig } from '../config.ts';
import { openLog } from '../log.ts';
import { openQueue } from '../queue/open.ts';
import { explainRedis, UnusableRedis } from '../queue/problems.ts';
import { startTelemetry } from '../telemetry.ts';
import { trust } from '../trust.ts';
import { Broker } from './broker.ts';
import { Relay } from './relay.ts';
import { SerialRelay } from './serial.ts';

/** What closing the connections may take beyond the relay's own grace. */
const GOODBYE_MS = 3000;

async function main(): Promise<void> {
  const config = readConfig(RelayConfig);
  trust(config.TLS_CA);
  const log = openLog(config.LOG_LEVEL);
  const queue = openQueue(config.QUEUE, {
    url: config.REDIS_URL,
    timeoutMs: config.REDIS_TIMEOUT_MS,
    onState: (up, reason) => (up ? log.info('Redis answers') : log.warn(`Redis is away: ${reason}`)),
  });
  const clock = new Clock(() => queue.time());
  let relay: Relay | SerialRelay | undefined;
  const broker = await Broker.open({
    url: config.MQTT_URL,
    name: config.PROCESS_NAME,
    timeoutMs: config.MQTT_TIMEOUT_MS,
    onState: (up, reason) => {
      if (up) {
        log.info('the broker answers');
        relay?.resume();
      } else {
        log.warn(`the broker is away: ${reason}`);
        relay?.suspend();
      }
    },
    onAck: (packetId, reasonCode) => relay?.acknowledge(packetId, reasonCode),
  }).catch((error: Error) => {
    throw new ConfigError(`MQTT_URL: ${error.message}`);
  });

  // Unique for good: a relay that starts under a dead one's name must not take its leases for its own.
  const consumer = `${config.PROCESS_NAME}-${randomBytes(4).toString('hex')}`;
  const options = {
    queue,
    broker,
    qos: config.MQTT_QOS as 0 | 1,
    now: () => clock.now(),
    consumer,
    log,
    batch: config.RELAY_BATCH,
    window: config.RELAY_WINDOW,
    timeoutMs: config.MQTT_TIMEOUT_MS,
    leaseMs: config.RELAY_LEASE_MS,
    deliveries: config.RELAY_DELIVERIES,
  };
  const running = config.RELAY_MODE === 'serial' ? new SerialRelay(options) : new Relay(options);
  relay = running;
  const stopTelemetry = startTelemetry({
    queue,
    clock,
    process: config.PROCESS_NAME,
    counters: () => running.counters,
  });

  closeWithGrace({ logger: log, delay: config.RELAY_GRACE_MS + GOODBYE_MS }, async ({ err }) => {
    if (err) log.error(err);
    const held = await running.stop(config.RELAY_GRACE_MS);
    if (held.length > 0)
      log.warn(`${held.length} messages were not delivered in time: they stay in the queue`);
    await queue.leave(consumer, held).catch((error) => log.warn(explainRedis(error)));
    stopTelemetry();
    clock.stop();
    await broker.close();
    queue.close();
  });

  await queue.whenReady(config.REDIS_TIMEOUT_MS).catch((error: Error) => {
    if (error instanceof UnusableRedis) throw new ConfigError(`REDIS_URL: ${error.message}`);
  });
  await clock.start().catch(() => {});
  await queue.join().catch(() => {});
  running.start();
  log.info(`relaying as ${consumer}`);
}

main().catch((error: Error) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
