import {
  constants,
  monitorEventLoopDelay,
  PerformanceObserver,
  type RecordableHistogram,
} from 'node:perf_hooks';
import type { Clock } from './clock.ts';
import type { Figure, Figures } from './metrics.ts';

const PERIOD_MS = 1000;
const RESOLUTION_MS = 10;

/** @types/node has no type for what an observer of `gc` is given. */
type GarbageCollection = PerformanceEntry & { detail: { kind?: number } };

/** What `data` of an entry of the telemetry stream holds; the k6 side reads it (extensions/k6/arrival/telemetry.go). */
export interface TelemetryData {
  /** 100 = one core. */
  cpu_percent?: number;
  rss_mb?: number;
  /** As they stand. */
  gauges?: Record<string, number>;
  /** Since the process started. */
  counters?: Record<string, number>;
  clock?: Clock['estimate'];
}

export interface TelemetryOptions<T> {
  /** The telemetry stream. */
  queue: { readonly ready: boolean; record(process: string, at: number, data: TelemetryData): Promise<void> };
  clock: Clock;
  /** The name in the telemetry stream, like `relay-1`. */
  process: string;
  figures: Figures<T>;
  /** The process's own figures, read once a second. */
  read: () => T;
}

/**
 * Appends this process's CPU, memory, event-loop delay, clock and own figures to the telemetry stream once a second.
 * Returns what stops it.
 */
export function startTelemetry<T extends object>(options: TelemetryOptions<T>): () => void {
  const { queue, clock, process: name, figures, read } = options;
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  loop.enable();
  const live = watchLiveHeap();
  let since = process.hrtime.bigint();
  let cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const now = process.hrtime.bigint();
    const used = process.cpuUsage(cpu);
    const elapsed_us = Number(now - since) / 1000;
    since = now;
    cpu = process.cpuUsage();
    const own = read();
    const data: TelemetryData = {
      cpu_percent: round((100 * (used.user + used.system)) / elapsed_us),
      rss_mb: round(process.memoryUsage.rss() / 1e6),
      gauges: {
        event_loop_p99_ms: loopDelay(loop),
        ...(live.mb !== undefined && { live_heap_mb: live.mb }),
        external_mb: round(process.memoryUsage().external / 1e6),
        ...ofKind('gauge', figures, own),
      },
      counters: ofKind('counter', figures, own),
      clock: clock.estimate,
    };
    loop.reset();
    // Redis away: this second is missing from the series, the next one may not be.
    if (queue.ready) queue.record(name, clock.now(), data).catch(() => {});
  }, PERIOD_MS).unref();
  return () => {
    clearInterval(timer);
    live.stop();
    loop.disable();
  };
}

function ofKind<T extends object>(kind: Figure['kind'], figures: Figures<T>, own: T): Record<string, number> {
  const names = Object.keys(figures) as (keyof T & string)[];
  return Object.fromEntries(
    names.filter((name) => figures[name].kind === kind).map((name) => [name, Number(own[name])]),
  );
}

/**
 * MB of heap after the last full garbage collection; undefined: there was none yet. Between two of them resident memory grows by what
 * is garbage, for minutes. Buffers are not in it: V8 counts those that it has freed until the next collection.
 */
function watchLiveHeap(): { mb: number | undefined; stop(): void } {
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as GarbageCollection[];
    const full = entries.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (full) live.mb = round(process.memoryUsage().heapUsed / 1e6);
  });
  observer.observe({ entryTypes: ['gc'] });
  const live = { mb: undefined as number | undefined, stop: () => observer.disconnect() };
  return live;
}

/** The histogram holds the time between two timer ticks: what exceeds the tick itself is delay. */
function loopDelay(loop: Pick<RecordableHistogram, 'percentile'>): number {
  return round(Math.max(0, loop.percentile(99) / 1e6 - RESOLUTION_MS));
}

/** To two decimals. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
