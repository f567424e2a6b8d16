import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import { ConfigError, RelayConfig, readConfig } from '../common/config.ts';
import { serveHealth } from '../common/health.ts';
import { openLog } from '../common/log.ts';
import { Outage } from '../common/outage.ts';
import { type Problem, type Readiness, STOPPING } from '../common/readiness.ts';
import { openSpans } from '../common/spans.ts';
import { trust } from '../common/trust.ts';
import { within } from '../common/within.ts';
import { fail, openProcess } from '../queue/process.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { idIn } from '../queue/trace-list.ts';
import { Broker } from './broker.ts';
import { signOff } from './goodbye.ts';
import { RELAY_FIGURES } from './options.ts';
import { Relay } from './relay.ts';

/** ms to close the connections after the relay's own grace. */
const GOODBYE_MS = 3000;
/** ms of them to sign off, and to give the queue messages back. */
const SIGN_OFF_MS = 1500;
/** ms that a readiness probe waits for the queue. */
const PROBE_MS = 1000;
/** ms between checks whether the clock has been probed. */
const UNPROBED_MS = 20;

async function main(): Promise<void> {
  const config = readConfig(RelayConfig);
  trust(config.TLS_CA);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const own = openProcess('relay', config, log, { onLost: (ids) => relay?.giveUp(ids) ?? [] });
  const { queue, clock, trace } = own;
  const spans = await openSpans('arrival-relay', config.PROCESS_NAME, log);
  let relay: Relay | undefined;
  const outage = new Outage(log, 'the broker');
  const broker = new Broker({
    url: config.MQTT_URL,
    name: config.PROCESS_NAME,
    qos: config.MQTT_QOS as 0 | 1,
    timeoutMs: config.MQTT_TIMEOUT_MS,
    onState: (up, reason) => {
      if (up) {
        outage.over();
        relay?.resume();
      } else {
        outage.away(reason, broker.problem?.kind === 'misconfigured');
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
    spansOf:
      spans &&
      (({ trace, topic, payload }, waited) =>
        spans.message(trace, spans.now() - waited / 1000, topic, idIn(payload, config.ID_KEY))),
    onPublished: trace && ((body, at) => trace.noteBody(body, at)),
  });
  relay = running;
  const record = own.brokerRecord({
    url: config.MQTT_URL,
    name: config.BROKER_NAME,
    relay: consumer,
  });
  let stopping = false;
  /** Why the queue has relays of another broker; undefined: it has none. */
  let conflict: string | undefined;
  const ready = async (): Promise<Readiness> => {
    const { problems, facts } = await readiness({
      queue,
      broker,
      relay: running,
      objection: own.objection,
      facts: own.facts,
      limit: config.READY_BACKLOG,
    });
    if (conflict !== undefined) problems.push({ problem: conflict, kind: 'misconfigured' });
    return { problems: stopping ? [STOPPING, ...problems] : problems, ...(facts && { facts }) };
  };
  const observed = own.observe(
    RELAY_FIGURES,
    () => running.counters,
    running.durations,
    { mqtt: () => broker.up },
    async () => (await ready()).problems,
  );
  const health = await serveHealth(config.HEALTH_HOST, config.HEALTH_PORT, {
    ready,
    metrics: observed.metrics,
  });
  let started = false;
  closeWithGrace({ logger: log, delay: config.RELAY_GRACE_MS + GOODBYE_MS }, async ({ err }) => {
    if (err) log.error(err);
    stopping = true;
    record.stop();
    await running.stop(config.RELAY_GRACE_MS);
    const goodbye = started && signOff({ queue, relay: running, consumer, log }, SIGN_OFF_MS);
    const [loses] = await Promise.all([goodbye, broker.close()]);
    observed.stop();
    clock.stop();
    await spans?.close();
    await health.close();
    own.close();
    if (loses) process.exit(1);
  });
  log.info(`health at ${health.url}`);

  await own.check();
  await own.startClock();
  await queue.join().catch(() => {});
  // Waits however long the broker is away: health and signals work already.
  await broker.opened;
  /** Resolves with false while the queue is away. */
  const checkRecord = () =>
    record.check().then(
      () => true,
      (error) => {
        if (error instanceof ConfigError) throw error;
        return false;
      },
    );
  const checked = await checkRecord();
  log.info(`relaying as ${consumer}`);
  // The queue may be away: claims need a probed clock for their stamps.
  while (!clock.probed) await sleep(UNPROBED_MS);
  if (!checked) await checkRecord();
  record.keep(
    () => broker.up,
    (why) => {
      conflict = why;
      if (why === undefined) log.info('the queue has no relays of another broker any more');
      else log.error(why);
    },
  );
  started = true;
  running.start();
}

/** The queue and the broker answer, it can take messages from the queue, and it is not far behind: else why not. */
async function readiness(sources: ReadinessSources): Promise<Readiness & { problems: Problem[] }> {
  const { queue, broker, objection, relay, limit } = sources;
  let silence: Problem = { problem: `${queue.server} does not answer`, kind: 'shared' };
  const depth = queue.depth().catch((error) => {
    silence = queue.away ?? queue.explain(error);
    throw error;
  });
  const backlog = await within(PROBE_MS, depth);
  const isBehind = backlog !== undefined && backlog >= limit;
  const behind: Problem = {
    problem: `a backlog of ${backlog} messages reaches the limit of ${limit}`,
    kind: 'shared',
  };
  // Without the queue, what needs it says nothing new.
  const problems = [
    backlog === undefined ? silence : undefined,
    broker.problem,
    ...(backlog === undefined ? [] : [objection(), ...relay.problems, isBehind ? behind : undefined]),
  ].filter((each) => each !== undefined);
  const facts = {
    ...sources.facts(backlog !== undefined),
    mqtt: broker.up,
    ...(backlog !== undefined && { backlog }),
  };
  return { problems, facts };
}

interface ReadinessSources {
  queue: Pick<MessageQueue, 'server' | 'away' | 'depth' | 'explain'>;
  broker: Pick<Broker, 'up' | 'problem'>;
  relay: Pick<Relay, 'problems'>;
  /** Why the queue cannot be used for messages. */
  objection: () => Problem | undefined;
  /** What it says of the queue's server, which answers or not. */
  facts: (answers: boolean) => Record<string, boolean>;
  /** Messages in the queue at which it is far behind. */
  limit: number;
}

main().catch(fail);
