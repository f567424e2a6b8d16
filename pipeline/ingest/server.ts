import closeWithGrace from 'close-with-grace';
import { ConfigError, IngestConfig, readConfig } from '../common/config.ts';
import { affordableConnections, openFilesLimit } from '../common/connections.ts';
import { addressOf, metrics, serveHealth } from '../common/health.ts';
import { openLog } from '../common/log.ts';
import { type Problem, STOPPING } from '../common/readiness.ts';
import { openSpans } from '../common/spans.ts';
import { Trouble } from '../common/trouble.ts';
import { trust } from '../common/trust.ts';
import { within } from '../common/within.ts';
import { fail, openProcess } from '../queue/process.ts';
import { ingest } from './app.ts';
import { Clients, LEAVE } from './clients.ts';
import { INGEST_FIGURES, ingestSeconds, noCounts } from './counters.ts';
import { createHttp } from './http.ts';
import { readTls, reloadTls } from './tls.ts';
import { Tokens } from './tokens.ts';

/** ms that the queue has, when the clients have left, to answer open requests. */
const GRACE_MS = 6000;
/** ms to answer them without it, and to close the connections. */
const GOODBYE_MS = 4000;
/** ms between looks for idle connections while it closes. */
const IDLE_MS = 50;

async function main(): Promise<void> {
  const config = readConfig(IngestConfig);
  trust(config.TLS_CA);
  if (config.MEMORY_LIMIT < config.BODY_LIMIT) {
    throw new ConfigError(
      `MEMORY_LIMIT is ${config.MEMORY_LIMIT}; allowed: BODY_LIMIT or more, so that a body fits`,
    );
  }
  const tokens = new Tokens(config.INGEST_TOKEN, config.INGEST_TOKENS_FILE);
  const tls = readTls(config);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const own = openProcess('ingest', config, log);
  const { queue, objection, clock, trace } = own;
  const counters = noCounts();
  const durations = ingestSeconds();
  const spans = await openSpans('arrival-ingest', config.PROCESS_NAME, log);
  const connections = affordableConnections(config.CONNECTION_LIMIT);
  if (connections < config.CONNECTION_LIMIT)
    log.warn(
      `CONNECTION_LIMIT is ${config.CONNECTION_LIMIT}, and this process may open ${openFilesLimit()} files (ulimit -n): ` +
        `it takes ${connections} connections`,
    );
  const full = new Trouble(log, 'it takes all connections again');
  const app = createHttp({ ...config, CONNECTION_LIMIT: connections }, tls, counters, full);
  const clients = new Clients(app);
  await app.register(ingest, {
    queue,
    now: config.STAMPS ? () => clock.now() : undefined,
    tokens,
    limits: { requests: config.REQUEST_LIMIT, bytes: config.MEMORY_LIMIT, backlog: config.BACKLOG_LIMIT },
    throttleBacklog: config.THROTTLE_BACKLOG,
    lingerMs: config.LINGER_MS,
    bodyLimit: config.BODY_LIMIT,
    batchLimit: config.BATCH_LIMIT,
    idKey: config.ID_KEY,
    trace,
    spans,
    counters,
    durations,
    objection,
    trouble: new Trouble(log, `${queue.server} takes messages again`),
    onUnreadable: (reason) =>
      reason === undefined ? log.info('the backlog is read again') : log.warn(reason),
    onError: (error) => log.error(error),
  });
  let stopping = false;
  const problems = async (): Promise<Problem[]> =>
    stopping
      ? [STOPPING]
      : [...(await app.inject('/readyz')).json().problems, ...(full.problem ? [full.problem] : [])];
  const observed = own.observe(INGEST_FIGURES, () => counters, [durations], {}, problems);
  await app.register(metrics, observed);
  await app.ready();
  const health = await serveHealth(config.HEALTH_HOST, config.HEALTH_PORT, {
    ready: async () => ({
      problems: await problems(),
      facts: { ...own.facts(), backlog: counters.backlog },
    }),
    metrics: observed.metrics,
  });
  log.info(`health at ${health.url}`);

  const unwatch = tokens.watch(log);
  process.on('SIGHUP', () => {
    tokens.reload(log);
    if (tls !== undefined) reloadTls(app, config, log);
  });

  closeWithGrace(
    { logger: log, delay: LEAVE.withinMs + GRACE_MS + GOODBYE_MS, skip: ['SIGHUP'] },
    async ({ err }) => {
      if (err) log.error(err);
      stopping = true;
      await clients.dismiss();
      const closed = app.close();
      // A connection that has just got its answer would stay open for as long as its client likes.
      const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_MS);
      await within(GRACE_MS, closed);
      if (counters.unanswered > 0) {
        log.warn(
          `${queue.server} does not answer: open requests are answered 503, and it may still take their messages`,
        );
        // Their writes fail then.
        own.close();
      }
      await closed;
      clearInterval(idle);
      await spans?.close();
      await health.close();
      unwatch();
      observed.stop();
      clock.stop();
      own.close();
    },
  );

  // Before the first request. While the queue is away, requests are refused until the clock is probed.
  await own.check();
  await own.checkFitness();
  if (config.MQTT_URL !== undefined) {
    const record = own.brokerRecord({ url: config.MQTT_URL, name: config.BROKER_NAME });
    await record.check().catch((error) => {
      // Relays will find out when the queue is back.
      if (error instanceof ConfigError) throw error;
    });
  }
  await own.startClock();
  // Fastify passes the options to `server.listen`, but its types lack `reusePort`.
  const address = {
    host: config.INGEST_HOST,
    port: config.INGEST_PORT,
    reusePort: config.INGEST_SHARED_PORT,
    // Node's default is 511: of 1,000 connections at once 143 found it full, and retried after a second.
    backlog: config.CONNECTION_LIMIT,
  };
  await app.listen(address).catch((error: Error) => {
    throw new ConfigError(`INGEST_PORT=${config.INGEST_PORT} cannot be used: ${error.message}`);
  });
  log.info(`listening at ${addressOf(app, tls === undefined ? 'http' : 'https')}`);
}

main().catch(fail);
