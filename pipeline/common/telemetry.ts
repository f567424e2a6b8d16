import {
  constants,
  monitorEventLoopDelay,
  PerformanceObserver,
  type RecordableHistogram,
} from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../shared/clock.ts';
import type { Figure, Figures } from './metrics.ts';

const PERIOD_MS = 1000;
const RESOLUTION_MS = 10;

/** @types/node has no type for entries of `gc`. */
type GarbageCollection = PerformanceEntry & { detail: { kind?: number } };

/** `data` of an entry of the telemetry stream; extensions/k6/internal/engine/telemetry.go reads it. */
export interface TelemetryData {
  /** 100 = one core. */
  cpu_percent?: number;
  rss_mb?: number;
  /** Current values. */
  gauges?: Record<string, number>;
  /** Since the process started. */
  counters?: Record<string, number>;
  clock?: Clock['estimate'];
}

interface TelemetryOptions<T> {
  /** The telemetry stream. */
  store: { readonly ready: boolean; record(process: string, at: number, data: TelemetryData): Promise<void> };
  clock: Clock;
  /** The name in the telemetry stream, like `relay-1`. */
  process: string;
  figures: Figures<T>;
  /** The process's own figures, read once a second. */
  read: () => T;
}

/**
 * Appends this process's CPU, memory, event-loop delay, clock and own figures to the telemetry stream once a second.
 * Returns a function that stops it.
 */
export function startTelemetry<T extends object>(options: TelemetryOptions<T>): () => void {
  const { store, clock, process: name, figures, read } = options;
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
      ...residentMemory(),
      gauges: {
        event_loop_p99_ms: loopDelay(loop),
        ...(live.mb !== undefined && { live_heap_mb: live.mb }),
        external_mb: round(getHeapStatistics().external_memory / 1e6),
        ...ofKind('gauge', figures, own),
      },
      counters: ofKind('counter', figures, own),
      clock: clock.estimate,
    };
    loop.reset();
    // Redis is away: the series lacks this second.
    if (store.ready) store.record(name, clock.now(), data).catch(() => {});
  }, PERIOD_MS).unref();
  return () => {
    clearInterval(timer);
    live.stop();
    loop.disable();
  };
}

/** What the process has in memory; nothing where that cannot be read: no /proc, or no file descriptor left to open it. */
function residentMemory(): { rss_mb?: number } {
  try {
    return { rss_mb: round(process.memoryUsage.rss() / 1e6) };
  } catch {
    return {};
  }
}

function ofKind<T extends object>(kind: Figure['kind'], figures: Figures<T>, own: T): Record<string, number> {
  const names = Object.keys(figures) as (keyof T & string)[];
  return Object.fromEntries(
    names.filter((name) => figures[name].kind === kind).map((name) => [name, Number(own[name])]),
  );
}

/**
 * Measures the heap after full garbage collections, in MB; undefined: there was none yet. Resident memory grows by garbage for
 * minutes between two of them. Buffers are not in it, as V8 counts freed ones until the next collection.
 */
function watchLiveHeap(): { mb: number | undefined; stop(): void } {
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as GarbageCollection[];
    const full = entries.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (full) live.mb = round(getHeapStatistics().used_heap_size / 1e6);
  });
  observer.observe({ entryTypes: ['gc'] });
  const live = { mb: undefined as number | undefined, stop: () => observer.disconnect() };
  return live;
}

/** The delay of the event loop: the histogram holds the time between two ticks of a timer, tick included. */
function loopDelay(loop: Pick<RecordableHistogram, 'percentile'>): number {
  return round(Math.max(0, loop.percentile(99) / 1e6 - RESOLUTION_MS));
}

/** Rounds to two decimals. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}
