import { Clock } from '../common/clock.ts';
import { ConfigError, type IngestConfig, queueOptions, type RelayConfig } from '../common/config.ts';
import type { Durations } from '../common/durations.ts';
import type { Logger } from '../common/log.ts';
import { type Figures, openMetrics } from '../common/metrics.ts';
import { startTelemetry } from '../common/telemetry.ts';
import type { QueueOptions } from './connection.ts';
import { openQueue } from './open.ts';
import { UnusableRedis } from './problems.ts';
import { Trace } from './trace.ts';

interface ProcessEvents extends Pick<QueueOptions, 'onLost'> {
  /** Called when Redis answers, the first time and after each outage. */
  onAnswer?: () => void;
}

/** Opens what ingest and relay use in Redis: queue, clock, trace and telemetry. */
export function openProcess(
  role: 'ingest' | 'relay',
  config: IngestConfig | RelayConfig,
  log: Logger,
  { onAnswer, onLost }: ProcessEvents,
) {
  const queue = openQueue(config.QUEUE, {
    url: config.REDIS_URL,
    ...queueOptions(config),
    timeoutMs: config.REDIS_TIMEOUT_MS,
    onState: (up, reason) => {
      if (!up) return log.warn(`Redis is away: ${reason}`);
      log.info('Redis answers');
      checkRedis().catch(fail);
      onAnswer?.();
    },
    ...(onLost && { onLost }),
  });
  /** Redis may come up later than the process, and differ after each outage. */
  async function checkRedis(): Promise<void> {
    await queue.whenReady(config.REDIS_TIMEOUT_MS).catch((error: Error) => {
      if (error instanceof UnusableRedis) throw new ConfigError(`REDIS_URL: ${error.message}`);
    });
  }
  const clock = new Clock(() => queue.time());
  const trace = new Trace({
    queue,
    component: role,
    every: config.TRACE_LOG_EVERY,
    now: () => clock.now(),
    idKey: config.ID_KEY,
    onTrouble: (what) => log.warn(what),
  });
  return {
    queue,
    checkRedis,
    clock,
    trace: config.TRACE_LOG_EVERY > 0 ? trace : undefined,
    /** Sends the process's figures once a second. Returns its metrics, and a function that stops this. */
    observe<T extends object>(
      figures: Figures<T>,
      read: () => T,
      durations: readonly Durations[],
      up: Record<string, () => boolean>,
    ) {
      const backlog = () => queue.depth();
      const metrics = openMetrics({
        role,
        figures,
        read,
        durations,
        clock,
        backlog,
        up: { redis: () => queue.ready, ...up },
      });
      return { metrics, stop: startTelemetry({ queue, clock, process: config.PROCESS_NAME, figures, read }) };
    },
  };
}

/** Ends a process that cannot do its work. */
export function fail(error: Error): never {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
