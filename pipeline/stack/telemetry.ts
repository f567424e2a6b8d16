import type { Clock } from '../common/clock.ts';
import { round, type TelemetryData } from '../common/telemetry.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { Store } from '../queue/store.ts';
import type { BrokerSys } from './broker-sys.ts';
import { redisFigures } from './redis-info.ts';
import { hostUsage, memoryInUse, processUsage, type Usage } from './usage.ts';
import { busyPercent, HAS_VMSTAT, type HostCounts, readHost, vmstat } from './vmstat.ts';

const PERIOD_MS = 1000;

export interface StackTelemetry {
  store: Pick<Store, 'ready' | 'record' | 'info'>;
  queue: Pick<MessageQueue, 'depth'>;
  clock: Clock;
  /** Pids of the servers that cannot tell what they use, by the name in the telemetry stream. */
  servers: Record<string, number>;
  broker: BrokerSys;
}

type Figures = Pick<TelemetryData, 'cpu_percent' | 'rss_mb' | 'gauges' | 'counters'>;

/**
 * Appends once a second what the servers and the host use, vmstat's figures, and what Redis and the broker say of
 * themselves. What this system or that server does not tell is left out. Returns what stops it.
 */
export function startStackTelemetry({ store, queue, clock, servers, broker }: StackTelemetry): () => void {
  const meter = new Meter();
  let host: HostCounts | undefined = readHost();
  const figures: Record<string, () => Figures | undefined | Promise<Figures | undefined>> = {
    host: () => {
      const before = host;
      host = readHost();
      if (before === undefined || host === undefined) return undefined;
      return {
        cpu_percent: round(busyPercent(before, host)),
        rss_mb: round(memoryInUse()),
        gauges: vmstat(before, host),
      };
    },
    redis: async () => {
      const [info, backlog] = await Promise.all([store.info(), queue.depth()]);
      const { gauges, counters } = redisFigures(info);
      return { gauges: { ...gauges, backlog }, counters };
    },
    mosquitto: () => broker.figures(),
  };
  const usages: Record<string, () => Usage | undefined> = HAS_VMSTAT ? {} : { host: hostUsage };
  for (const [name, pid] of Object.entries(servers)) usages[name] = () => processUsage(pid);

  const tell = async (name: string) => {
    const used = meter.since(name, usages[name]?.());
    const reported = await Promise.resolve(figures[name]?.()).catch(() => undefined);
    if (!store.ready || (used === undefined && reported === undefined)) return;
    const gauges = reported?.gauges && mapValues(reported.gauges, round);
    await store.record(name, clock.now(), { ...used, ...reported, ...(gauges && { gauges }) });
  };
  const names = new Set([...Object.keys(usages), ...Object.keys(figures)]);
  const timer = setInterval(() => {
    // Redis away: this second is missing from the series, the next one may not be.
    for (const name of names) tell(name).catch(() => {});
  }, PERIOD_MS).unref();
  return () => clearInterval(timer);
}

/** Turns CPU time into CPU in percent of one core. */
class Meter {
  readonly #last = new Map<string, { usage: Usage; at: number }>();

  since(name: string, usage: Usage | undefined): Pick<TelemetryData, 'cpu_percent' | 'rss_mb'> | undefined {
    const at = performance.now();
    const before = this.#last.get(name);
    if (usage === undefined) {
      this.#last.delete(name);
      return undefined;
    }
    this.#last.set(name, { usage, at });
    if (before === undefined) return undefined;
    // A worker that ended took its time with it.
    const cpu_percent = Math.max(0, (100 * (usage.cpu_ms - before.usage.cpu_ms)) / (at - before.at));
    return { cpu_percent: round(cpu_percent), rss_mb: round(usage.rss_mb) };
  }
}

function mapValues(
  values: Record<string, number>,
  change: (value: number) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
