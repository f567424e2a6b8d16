import { monitorEventLoopDelay, type RecordableHistogram } from 'node:perf_hooks';
import type { Clock } from './clock.ts';
import type { Queue } from './queue/queue.ts';

const PERIOD_MS = 1000;
const RESOLUTION_MS = 10;

export interface TelemetryOptions {
  queue: Queue;
  clock: Clock;
  /** The name in the telemetry stream, like `relay-1`. */
  process: string;
  /** The process's own counters, read once a second. */
  counters: () => object;
}

/**
 * Appends this process's CPU (100 = one core), memory, event-loop delay, clock and counters to the telemetry
 * stream once a second. Returns what stops it.
 */
export function startTelemetry({ queue, clock, process: name, counters }: TelemetryOptions): () => void {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  let since = process.hrtime.bigint();
  let cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const now = process.hrtime.bigint();
    const used = process.cpuUsage(cpu);
    const elapsed_us = Number(now - since) / 1000;
    since = now;
    cpu = process.cpuUsage();
    const data = {
      cpu_percent: round((100 * (used.user + used.system)) / elapsed_us),
      rss_mb: round(process.memoryUsage.rss() / 1e6),
      event_loop_p99_ms: loopDelay(loop),
      ...counters(),
      clock: clock.estimate,
    };
    loop.reset();
    // Redis away: this second is missing from the series, the next one may not be.
    if (queue.ready) queue.record(name, clock.now(), data).catch(() => {});
  }, PERIOD_MS).unref();
  return () => {
    clearInterval(timer);
    loop.disable();
  };
}

/** The histogram holds the time between two timer ticks: what exceeds the tick itself is delay. */
function loopDelay(loop: Pick<RecordableHistogram, 'percentile'>): number {
  return round(Math.max(0, loop.percentile(99) / 1e6 - RESOLUTION_MS));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
