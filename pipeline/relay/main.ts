import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import type { Clock } from '../common/clock.ts';
import { ConfigError, RelayConfig, readConfig } from '../common/config.ts';
import { type Readiness, serveHealth, within } from '../common/health.ts';
import { openLog } from '../common/log.ts';
import { trust } from '../common/trust.ts';
import { explainRedis } from '../queue/problems.ts';
import { fail, openProcess } from '../queue/process.ts';
import { messagesOf, type Queue } from '../queue/queue.ts';
import { Broker } from './broker.ts';
import { RELAY_FIGURES } from './options.ts';
import { Relay } from './relay.ts';

/** ms to close the connections after the relay's own grace. */
const GOODBYE_MS = 3000;
/** ms that a readiness probe waits for Redis. */
const PROBE_MS = 1000;
/** ms between checks whether the clock has been probed. */
const UNPROBED_MS = 20;

async function main(): Promise<void> {
  const config = readConfig(RelayConfig);
  trust(config.TLS_CA);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const { queue, checkRedis, clock, trace, observe } = openProcess('relay', config, log, {
    onLost: (ids) => relay?.giveUp(ids) ?? [],
  });
  let relay: Relay | undefined;
  const broker = new Broker({
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
  });
  broker.opened.catch((error: Error) => fail(new ConfigError(`MQTT_URL: ${error.message}`)));

  // Unique: a relay that starts with a dead one's name must not take its leases for its own.
  const consumer = `${config.PROCESS_NAME}-${randomBytes(4).toString('hex')}`;
  const running = new Relay({
    queue,
    broker,
    qos: config.MQTT_QOS as 0 | 1,
    now: () => clock.now(),
    consumer,
    log,
    serial: config.RELAY_MODE === 'serial',
    batch: config.RELAY_BATCH,
    window: config.RELAY_WINDOW,
    memory: config.RELAY_MEMORY,
    timeoutMs: config.MQTT_TIMEOUT_MS,
    leaseMs: config.RELAY_LEASE_MS,
    deliveries: config.RELAY_DELIVERIES,
    onPublished: trace && ((body, at) => trace.noteBody(body, at)),
  });
  relay = running;
  const observed = observe(RELAY_FIGURES, () => running.counters, running.durations, {
    mqtt: () => broker.up,
  });
  const health = await serveHealth(config.HEALTH_HOST, config.HEALTH_PORT, {
    ready: () => readiness({ queue, broker, clock, relay: running, limit: config.READY_BACKLOG }),
    metrics: observed.metrics,
  });
  let started = false;
  closeWithGrace({ logger: log, delay: config.RELAY_GRACE_MS + GOODBYE_MS }, async ({ err }) => {
    if (err) log.error(err);
    const held = await running.stop(config.RELAY_GRACE_MS);
    if (held.length > 0)
      log.warn(`${messagesOf(held)} messages were not delivered in time: they stay in the queue`);
    if (started) await queue.signOff(consumer, held).catch((error) => log.warn(explainRedis(error)));
    observed.stop();
    clock.stop();
    await broker.close();
    await health.close();
    queue.close();
  });
  log.info(`health at ${health.url}`);

  await checkRedis();
  await clock.start().catch((error) => {
    if (queue.ready) log.warn(`Redis: its clock is not known yet: ${explainRedis(error)}`);
  });
  await queue.join().catch(() => {});
  // Waits however long the broker is away: health and signals work already.
  await broker.opened;
  log.info(`relaying as ${consumer}`);
  // Redis may be away: claims need a probed clock for their stamps.
  while (!clock.probed) await sleep(UNPROBED_MS);
  started = true;
  running.start();
}

/** A relay is ready when Redis and the broker answer, it can take messages from the queue, and it is not far behind. */
async function readiness({ queue, broker, clock, relay, limit }: ReadinessSources): Promise<Readiness> {
  let silence = 'Redis is away';
  const depth = queue.depth().catch((error) => {
    if (queue.ready) silence = explainRedis(error);
    throw error;
  });
  const backlog = await within(PROBE_MS, depth);
  const problem = () => {
    if (backlog === undefined) return silence;
    if (!broker.up) return 'the broker is away';
    // No claims until then.
    if (!clock.probed) return 'Redis: its clock is not known yet';
    if (relay.problem !== undefined) return relay.problem;
    return backlog >= limit ? `a backlog of ${backlog} messages reaches the limit of ${limit}` : undefined;
  };
  return { problem: problem(), redis: backlog !== undefined, mqtt: broker.up, backlog };
}

interface ReadinessSources {
  queue: Pick<Queue, 'ready' | 'depth'>;
  broker: Pick<Broker, 'up'>;
  clock: Pick<Clock, 'probed'>;
  relay: Pick<Relay, 'problem'>;
  /** Messages in the queue at which it is not ready. */
  limit: number;
}

main().catch(fail);
