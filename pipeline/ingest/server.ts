import closeWithGrace from 'close-with-grace';
import { ConfigError, IngestConfig, readConfig } from '../common/config.ts';
import { metrics, serveHealth } from '../common/health.ts';
import { openLog } from '../common/log.ts';
import { trust } from '../common/trust.ts';
import { fail, openProcess } from '../queue/process.ts';
import { ingest } from './app.ts';
import { INGEST_FIGURES, ingestSeconds, noCounts } from './counters.ts';
import { createHttp } from './http.ts';
import { readTls, reloadTls } from './tls.ts';
import { Tokens } from './tokens.ts';

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
  const { queue, checkRedis, clock, trace, observe } = openProcess('ingest', config, log, {
    onAnswer: () => void checkPolicy(),
  });
  // After an outage there may be another Redis.
  let evicts: string | undefined;
  async function checkPolicy(): Promise<void> {
    const before = evicts;
    evicts = await queue.evicts().catch(() => before);
    if (evicts !== undefined && evicts !== before) log.error(`Redis: ${evicts}`);
  }
  const counters = noCounts();
  const durations = ingestSeconds();
  const app = createHttp(config, tls, counters);
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
    counters,
    durations,
    objection: () => evicts ?? (config.STAMPS && !clock.probed ? 'its clock is not known yet' : undefined),
    onTrouble: (reason) => (reason === undefined ? log.info('Redis takes messages again') : log.warn(reason)),
    onError: (error) => log.error(error),
  });
  const observed = observe(INGEST_FIGURES, () => counters, [durations], {});
  await app.register(metrics, observed);
  await app.ready();
  const health = await serveHealth(config.HEALTH_HOST, config.HEALTH_PORT, {
    ready: async () => {
      const { error } = (await app.inject('/readyz')).json();
      return { problem: error, redis: queue.ready, backlog: counters.backlog };
    },
    metrics: observed.metrics,
  });
  log.info(`health at ${health.url}`);

  const unwatch = tokens.watch(log);
  process.on('SIGHUP', () => {
    tokens.reload(log);
    if (tls !== undefined) reloadTls(app, config, log);
  });

  closeWithGrace({ logger: log, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err) log.error(err);
    await app.close();
    await health.close();
    unwatch();
    observed.stop();
    clock.stop();
    queue.close();
  });

  // Before the first request. While Redis is away, requests are refused until the clock is probed.
  await checkRedis();
  if (queue.ready) await checkPolicy();
  if (evicts !== undefined) throw new ConfigError(`REDIS_URL: ${evicts}`);
  await clock.start().catch(() => {});
  // Fastify passes the options to `server.listen`, but its types lack `reusePort`.
  const address = {
    host: config.INGEST_HOST,
    port: config.INGEST_PORT,
    reusePort: config.INGEST_SHARED_PORT,
    // Node's default is 511: of 1,000 connections at once 143 found it full, and retried after a second.
    backlog: config.CONNECTION_LIMIT,
  };
  const url = await app.listen(address).catch((error: Error) => {
    throw new ConfigError(`INGEST_PORT=${config.INGEST_PORT} cannot be used: ${error.message}`);
  });
  log.info(`listening at ${url}`);
}

main().catch(fail);
