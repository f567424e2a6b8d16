import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveHealth } from '../common/health.ts';
import type { Logger } from '../common/log.ts';
import { Outage } from '../common/outage.ts';
import { type Problem, type Readiness, STOPPING } from '../common/readiness.ts';
import { type Service, serve } from '../common/serve.ts';
import { openSpans, type Spans } from '../common/spans.ts';
import { within } from '../common/within.ts';
import type { BrokerRecord } from '../queue/broker-record.ts';
import { openProcess } from '../queue/process.ts';
import { ConfigError, type RelayConfig } from '../shared/config.ts';
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

/** The longest that {@link runRelay} takes from its signal to its end, ms. */
export const stopLimitMs = ({ RELAY_GRACE_MS }: RelayConfig) => RELAY_GRACE_MS + GOODBYE_MS;

/**
 * Runs a relay until `stop` aborts: what main.ts does, without a process of its own. Rejects when it cannot work until somebody changes
 * its settings.
 * @returns the exit code: 1 if messages are lost, or may be
 */
export async function runRelay(config: RelayConfig, log: Logger, stop: AbortSignal): Promise<0 | 1> {
  const spans = await openSpans('arrival-relay', config.PROCESS_NAME, log);
  return (await serve(new RelayService(config, log, spans), stop)) ? 1 : 0;
}

/** A relay with its connections, its health and its telemetry. */
class RelayService implements Service<boolean> {
  readonly failed: Promise<never>;
  readonly #config: RelayConfig;
  readonly #log: Logger;
  readonly #spans: Spans | undefined;
  readonly #own: ReturnType<typeof openProcess>;
  readonly #broker: Broker;
  readonly #outage: Outage;
  readonly #relay: Relay;
  readonly #record: BrokerRecord;
  /** Unique: a relay that starts with a dead one's name must not take its leases for its own. */
  readonly #consumer: string;
  #observed: { stop(): void } | undefined;
  #health: { close(): Promise<void> } | undefined;
  #isStarted = false;
  #isStopping = false;
  /** Why the queue has relays of another broker; undefined: it has none. */
  #conflict: string | undefined;

  constructor(config: RelayConfig, log: Logger, spans: Spans | undefined) {
    const failed = Promise.withResolvers<never>();
    this.failed = failed.promise;
    this.#config = config;
    this.#log = log;
    this.#spans = spans;
    this.#consumer = `${config.PROCESS_NAME}-${randomBytes(4).toString('hex')}`;
    this.#own = openProcess('relay', config, log, {
      onLost: (ids) => this.#relay.giveUp(ids),
      onFailure: failed.reject,
    });
    this.#outage = new Outage(log, 'the broker');
    const qos = config.MQTT_QOS as 0 | 1;
    this.#broker = new Broker({
      url: config.MQTT_URL,
      name: config.PROCESS_NAME,
      qos,
      timeoutMs: config.MQTT_TIMEOUT_MS,
      onState: (up, reason) => this.#onBroker(up, reason),
    });
    this.#broker.opened.catch((error) => failed.reject(new ConfigError(`MQTT_URL: ${error.message}`)));
    const { queue, clock, trace } = this.#own;
    this.#relay = new Relay({
      queue,
      broker: this.#broker,
      qos,
      now: clock.now,
      consumer: this.#consumer,
      log,
      serial: config.RELAY_MODE === 'serial',
      batch: config.RELAY_BATCH,
      window: config.RELAY_WINDOW,
      memory: config.RELAY_MEMORY,
      timeoutMs: config.MQTT_TIMEOUT_MS,
      leaseMs: config.RELAY_LEASE_MS,
      deliveries: config.RELAY_DELIVERIES,
      spans,
      trace,
      idKey: config.ID_KEY,
    });
    this.#record = this.#own.brokerRecord({
      url: config.MQTT_URL,
      name: config.BROKER_NAME,
      relay: this.#consumer,
    });
  }

  /** Resolves when the relay claims messages: the queue and the broker have answered, however long they were away. */
  async start(): Promise<void> {
    const { queue, clock } = this.#own;
    await this.#serveHealth();
    await this.#own.check();
    await this.#own.startClock();
    await queue.join().catch(() => {});
    // Waits however long the broker is away: health and signals work already.
    await this.#broker.opened;
    const isChecked = await this.#checkRecord();
    this.#log.info(`relaying as ${this.#consumer}`);
    // The queue may be away: claims need a probed clock for their stamps.
    while (!clock.probed && !this.#isStopping) await sleep(UNPROBED_MS);
    if (!isChecked) await this.#checkRecord();
    if (this.#isStopping) return;
    this.#record.keep(
      () => this.#broker.up,
      (why) => this.#onConflict(why),
    );
    this.#isStarted = true;
    this.#relay.start();
  }

  /** Delivers what it holds, as far as its grace allows, and signs off. Resolves with whether messages are lost, or may be. */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    this.#record.stop();
    await this.#relay.stop(this.#config.RELAY_GRACE_MS);
    const { queue } = this.#own;
    const options = { queue, relay: this.#relay, consumer: this.#consumer, log: this.#log };
    const goodbye = this.#isStarted && signOff(options, SIGN_OFF_MS);
    const [loses] = await Promise.all([goodbye, this.#broker.close()]);
    await this.#spans?.close();
    await this.#health?.close();
    return loses;
  }

  /** Closes what is open. */
  close(): void {
    this.#isStopping = true;
    this.#record.stop();
    this.#relay.close();
    void this.#broker.close();
    this.#observed?.stop();
    void this.#health?.close();
    this.#own.clock.stop();
    this.#own.close();
  }

  #onBroker(up: boolean, reason: string): void {
    if (up) {
      this.#outage.over();
      this.#relay.resume();
    } else {
      this.#outage.away(reason, this.#broker.problem?.kind === 'misconfigured');
      this.#relay.suspend();
    }
  }

  #onConflict(why: string | undefined): void {
    this.#conflict = why;
    if (why === undefined) this.#log.info('the queue has no relays of another broker any more');
    else this.#log.error(why);
  }

  /** Resolves with false while the queue is away. */
  async #checkRecord(): Promise<boolean> {
    try {
      await this.#record.check();
      return true;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      return false;
    }
  }

  async #serveHealth(): Promise<void> {
    const { HEALTH_HOST, HEALTH_PORT } = this.#config;
    const observed = this.#own.observe(
      RELAY_FIGURES,
      () => this.#relay.counters,
      this.#relay.durations,
      { mqtt: () => this.#broker.up },
      async () => (await this.#readiness()).problems,
    );
    this.#observed = observed;
    const ready = () => this.#readiness();
    const health = await serveHealth(HEALTH_HOST, HEALTH_PORT, { ready, metrics: observed.metrics });
    this.#health = health;
    this.#log.info(`health at ${health.url}`);
  }

  /** Says whether the queue and the broker answer, it can take messages from the queue, and it is not far behind. */
  async #readiness(): Promise<Readiness> {
    const { queue } = this.#own;
    const limit = this.#config.READY_BACKLOG;
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
    const conflict: Problem | undefined =
      this.#conflict === undefined ? undefined : { problem: this.#conflict, kind: 'misconfigured' };
    // While the queue is away, the problems of what needs it say nothing new.
    const ofQueue =
      backlog === undefined
        ? []
        : [this.#own.objection(), ...this.#relay.problems, isBehind ? behind : undefined];
    const all = [
      this.#isStopping ? STOPPING : undefined,
      backlog === undefined ? silence : undefined,
      this.#broker.problem,
      ...ofQueue,
      conflict,
    ];
    const facts = {
      ...this.#own.facts(backlog !== undefined),
      mqtt: this.#broker.up,
      ...(backlog !== undefined && { backlog }),
    };
    return { problems: all.filter((each) => each !== undefined), facts };
  }
}
