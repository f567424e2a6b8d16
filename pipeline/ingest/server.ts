import closeWithGrace from 'close-with-grace';
import { fastify } from 'fastify';
import { Clock } from '../clock.ts';
import { ConfigError, IngestConfig, readConfig } from '../config.ts';
import { metrics, serveHealth } from '../health.ts';
import { openLog } from '../log.ts';
import { INGEST_FIGURES, openMetrics } from '../metrics.ts';
import { openQueue } from '../queue/open.ts';
import { UnusableRedis } from '../queue/problems.ts';
import { startTelemetry } from '../telemetry.ts';
import { ingest, noCounts } from './app.ts';
import { readTls } from './tls.ts';
import { Tokens } from './tokens.ts';

/** Longer than the idle time of load balancers (60 s as a rule), so that it is never we who hang up. */
const KEEP_ALIVE_MS = 72_000;

async function main(): Promise<void> {
  const config = readConfig(IngestConfig);
  const tokens = new Tokens(config.INGEST_TOKEN, config.INGEST_TOKENS_FILE);
  const tls = readTls(config);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const queue = openQueue(config.QUEUE, {
    url: config.REDIS_URL,
    timeoutMs: config.REDIS_TIMEOUT_MS,
    onState: (up, reason) => (up ? log.info('Redis answers') : log.warn(`Redis is away: ${reason}`)),
  });
  const clock = new Clock(() => queue.time());
  // Without a logger of its own: one made for each request would cost more than checking the request.
  const app = fastify({ keepAliveTimeout: KEEP_ALIVE_MS, https: tls ?? null });
  const counters = noCounts();
  await app.register(ingest, {
    queue,
    now: config.STAMPS ? () => clock.now() : undefined,
    tokens,
    backlogLimit: config.BACKLOG_LIMIT,
    bodyLimit: config.BODY_LIMIT,
    counters,
    onError: (error) => log.error(error),
  });
  const registry = openMetrics({
    role: 'ingest',
    figures: INGEST_FIGURES,
    read: () => counters,
    clock,
    backlog: () => queue.depth(),
    up: { redis: () => queue.ready },
  });
  await app.register(metrics, { metrics: registry });
  await app.ready();
  const health = await serveHealth(config.HEALTH_PORT, {
    ready: async () => {
      const { error, status: _, ...facts } = (await app.inject('/readyz')).json();
      return { problem: error, ...facts };
    },
    metrics: registry,
  });
  log.info(`health at ${health.url}`);
  const stopTelemetry = startTelemetry({
    queue,
    clock,
    process: config.PROCESS_NAME,
    figures: INGEST_FIGURES,
    read: () => counters,
  });

  const unwatch = tokens.watch(log);
  process.on('SIGHUP', () => tokens.reload(log));

  closeWithGrace({ logger: log, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err) log.error(err);
    await app.close();
    await health.close();
    unwatch();
    stopTelemetry();
    clock.stop();
    queue.close();
  });

  // Before the first request, so that no stamp is taken on an unprobed clock. Redis may still be away.
  await queue.whenReady(config.REDIS_TIMEOUT_MS).catch((error: Error) => {
    if (error instanceof UnusableRedis) throw new ConfigError(`REDIS_URL: ${error.message}`);
  });
  await clock.start().catch(() => {});
  // Fastify hands the options on to `server.listen`, and its types know no `reusePort` yet.
  const address = {
    host: config.INGEST_HOST,
    port: config.INGEST_PORT,
    reusePort: config.INGEST_SHARED_PORT,
  };
  log.info(`listening at ${await app.listen(address)}`);
}

main().catch((error: Error) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
