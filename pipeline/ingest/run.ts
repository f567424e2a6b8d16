import type { FastifyInstance } from 'fastify';
import { affordableConnections, openFilesLimit } from '../common/connections.ts';
import { addressOf, metrics, serveHealth } from '../common/health.ts';
import type { Logger } from '../common/log.ts';
import { type Problem, STOPPING } from '../common/readiness.ts';
import { type Service, serve } from '../common/serve.ts';
import { openSpans, type Spans } from '../common/spans.ts';
import { Trouble } from '../common/trouble.ts';
import { within } from '../common/within.ts';
import { openProcess } from '../queue/process.ts';
import { ConfigError, type IngestConfig } from '../shared/config.ts';
import { ingest } from './app.ts';
import { INGEST_FIGURES, ingestSeconds, noCounts } from './counters.ts';
import { Clients, createHttp, LEAVE } from './http.ts';
import { readTls, reloadTls } from './tls.ts';
import { Tokens } from './tokens.ts';

/** ms that the queue has, when the clients have left, to answer open requests. */
const GRACE_MS = 6000;
/** ms to answer them without it, and to close the connections. */
const GOODBYE_MS = 4000;
/** ms between looks for idle connections while it closes. */
const IDLE_MS = 50;

/** The longest that {@link runIngest} takes from its signal to its end, ms. */
export const STOP_LIMIT_MS = LEAVE.withinMs + GRACE_MS + GOODBYE_MS;

/** The signals that an ingest gets while it runs. */
interface IngestSignals {
  stop: AbortSignal;
  /** Gets a function that reads tokens and certificate again. */
  onReload?: (reload: () => void) => void;
}

/**
 * Runs an ingest until `stop` aborts: what server.ts does, without a process of its own. Rejects when it cannot work until somebody
 * changes its settings.
 */
export async function runIngest(config: IngestConfig, log: Logger, signals: IngestSignals): Promise<void> {
  if (config.MEMORY_LIMIT < config.BODY_LIMIT)
    throw new ConfigError(
      `MEMORY_LIMIT is ${config.MEMORY_LIMIT}; allowed: BODY_LIMIT or more, so that a body fits`,
    );
  const tokens = new Tokens(config.INGEST_TOKEN, config.INGEST_TOKENS_FILE);
  const tls = readTls(config);
  const spans = await openSpans('arrival-ingest', config.PROCESS_NAME, log);
  const { onReload } = signals;
  await serve(new IngestService(config, log, { tokens, tls, spans, onReload }), signals.stop);
}

interface Given {
  tokens: Tokens;
  tls: ReturnType<typeof readTls>;
  spans: Spans | undefined;
  onReload: IngestSignals['onReload'];
}

/** An ingest with its connections, its health and its telemetry. */
class IngestService implements Service<void> {
  readonly failed: Promise<never>;
  readonly #config: IngestConfig;
  readonly #log: Logger;
  readonly #given: Given;
  readonly #own: ReturnType<typeof openProcess>;
  readonly #counters = noCounts();
  readonly #seconds = ingestSeconds();
  /** All connections are taken. */
  readonly #full: Trouble;
  readonly #app: FastifyInstance;
  readonly #clients: Clients;
  #observed: { stop(): void } | undefined;
  #health: { close(): Promise<void> } | undefined;
  #unwatch: (() => void) | undefined;
  #isStopping = false;

  constructor(config: IngestConfig, log: Logger, given: Given) {
    const failed = Promise.withResolvers<never>();
    this.failed = failed.promise;
    this.#config = config;
    this.#log = log;
    this.#given = given;
    this.#own = openProcess('ingest', config, log, { onFailure: failed.reject });
    this.#full = new Trouble(log, 'it takes all connections again');
    const connections = affordableConnections(config.CONNECTION_LIMIT);
    if (connections < config.CONNECTION_LIMIT)
      log.warn(
        `CONNECTION_LIMIT is ${config.CONNECTION_LIMIT}, and this process may open ${openFilesLimit()} files (ulimit -n): ` +
          `it takes ${connections} connections`,
      );
    const limited = { ...config, CONNECTION_LIMIT: connections };
    this.#app = createHttp(limited, given.tls, this.#counters, this.#full);
    this.#clients = new Clients(this.#app);
  }

  /** Resolves when the ingest listens. */
  async start(): Promise<void> {
    const log = this.#log;
    await this.#registerApp();
    await this.#serveHealth();
    const { tokens, tls, onReload } = this.#given;
    this.#unwatch = tokens.watch(log);
    onReload?.(() => {
      tokens.reload(log);
      if (tls !== undefined) reloadTls(this.#app, this.#config, log);
    });
    // These come before the first request. While the queue is away, requests are refused until the clock is probed.
    await this.#own.check();
    await this.#own.checkFitness();
    await this.#checkRecord();
    await this.#own.startClock();
    if (!this.#isStopping) await this.#listen();
  }

  /** Answers the open requests, and closes the connections. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#clients.dismiss();
    const closed = this.#app.close();
    // A connection that has just got its answer would stay open for as long as its client likes.
    const idle = setInterval(() => this.#app.server.closeIdleConnections(), IDLE_MS);
    await within(GRACE_MS, closed);
    if (this.#counters.unanswered > 0) {
      this.#log.warn(
        `${this.#own.queue.server} does not answer: open requests are answered 503, and it may still take their messages`,
      );
      // Their writes fail then.
      this.#own.close();
    }
    await closed;
    clearInterval(idle);
    await this.#given.spans?.close();
    await this.#health?.close();
  }

  /** Closes what is open. */
  close(): void {
    this.#isStopping = true;
    void this.#app.close();
    void this.#health?.close();
    this.#unwatch?.();
    this.#observed?.stop();
    this.#own.clock.stop();
    this.#own.close();
  }

  async #registerApp(): Promise<void> {
    const config = this.#config;
    const log = this.#log;
    const { queue, objection, clock, trace } = this.#own;
    await this.#app.register(ingest, {
      queue,
      now: config.STAMPS ? clock.now : undefined,
      tokens: this.#given.tokens,
      limits: { requests: config.REQUEST_LIMIT, bytes: config.MEMORY_LIMIT, backlog: config.BACKLOG_LIMIT },
      throttleBacklog: config.THROTTLE_BACKLOG,
      lingerMs: config.LINGER_MS,
      bodyLimit: config.BODY_LIMIT,
      batchLimit: config.BATCH_LIMIT,
      idKey: config.ID_KEY,
      trace,
      spans: this.#given.spans,
      counters: this.#counters,
      durations: this.#seconds,
      objection,
      trouble: new Trouble(log, `${queue.server} takes messages again`),
      onUnreadable: (reason) =>
        reason === undefined ? log.info('the backlog is read again') : log.warn(reason),
      onError: (error) => log.error(error),
    });
  }

  async #serveHealth(): Promise<void> {
    const { HEALTH_HOST, HEALTH_PORT } = this.#config;
    const counters = this.#counters;
    const problems = () => this.#problems();
    const observed = this.#own.observe(INGEST_FIGURES, () => counters, [this.#seconds], {}, problems);
    this.#observed = observed;
    await this.#app.register(metrics, observed);
    await this.#app.ready();
    const health = await serveHealth(HEALTH_HOST, HEALTH_PORT, {
      ready: async () => ({
        problems: await problems(),
        facts: { ...this.#own.facts(), backlog: counters.backlog },
      }),
      metrics: observed.metrics,
    });
    this.#health = health;
    this.#log.info(`health at ${health.url}`);
  }

  async #problems(): Promise<Problem[]> {
    if (this.#isStopping) return [STOPPING];
    const { problem } = this.#full;
    return [...(await this.#app.inject('/readyz')).json().problems, ...(problem ? [problem] : [])];
  }

  async #checkRecord(): Promise<void> {
    const { MQTT_URL: url, BROKER_NAME: name } = this.#config;
    if (url === undefined) return;
    await this.#own
      .brokerRecord({ url, name })
      .check()
      .catch((error) => {
        // Relays will find out when the queue is back.
        if (error instanceof ConfigError) throw error;
      });
  }

  async #listen(): Promise<void> {
    const config = this.#config;
    // Fastify passes the options to `server.listen`, but its types lack `reusePort`.
    const address = {
      host: config.INGEST_HOST,
      port: config.INGEST_PORT,
      reusePort: config.INGEST_SHARED_PORT,
      // Node's default is 511: of 1,000 connections at once 143 found it full, and retried after a second.
      backlog: config.CONNECTION_LIMIT,
    };
    await this.#app.listen(address).catch((error: Error) => {
      throw new ConfigError(`INGEST_PORT=${config.INGEST_PORT} cannot be used: ${error.message}`);
    });
    this.#log.info(`listening at ${addressOf(this.#app, this.#given.tls === undefined ? 'http' : 'https')}`);
  }
}
