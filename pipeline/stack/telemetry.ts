import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type MqttClient } from 'mqtt';
import { brokerAt } from '../common/broker-attempt.ts';
import { round, type TelemetryData } from '../common/telemetry.ts';
import { openQueue } from '../queue/open.ts';
import type { MessageQueue } from '../queue/queue.ts';
import { Store } from '../queue/store.ts';
import { Clock } from '../shared/clock.ts';
import { queueOptions, type StackConfig } from '../shared/config.ts';
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
 * themselves. Figures that the system or a server does not report are left out. Returns a function that stops it.
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

interface Watched {
  config: StackConfig;
  redisUrl: string;
  mqttUrl: string;
  /** Pids, by the name in the telemetry stream. */
  servers: Record<string, number>;
  readyMs: number;
}

/**
 * Connects the stack to its servers, and reports what they use once a second.
 * @param undo gets what closes it, also when it fails halfway
 */
export async function watch(
  { config, redisUrl, mqttUrl, servers, readyMs }: Watched,
  undo: (() => void | Promise<void>)[],
): Promise<{ queue: MessageQueue; store: Store; broker: BrokerSys }> {
  const options = { url: redisUrl, ...queueOptions(config), timeoutMs: readyMs };
  const store = new Store(options);
  const queue = openQueue(config.QUEUE, options, store);
  undo.push(() => {
    queue.close();
    store.close();
  });
  await queue.whenReady(readyMs);
  const clock = new Clock(() => store.time());
  await clock.start();
  undo.push(() => clock.stop());
  const broker = new BrokerSys(mqttUrl);
  undo.push(() => broker.close());
  undo.push(startStackTelemetry({ store, queue, clock, servers, broker }));
  return { queue, store, broker };
}

/** `heap/current` is left out: it grows with each user property, which is freed but not subtracted (eclipse-mosquitto/mosquitto#3192). */
const GAUGES: Record<string, string> = {
  'clients/connected': 'clients',
  /** Retained messages, and those waiting for a client. */
  'store/messages/count': 'stored_messages',
};

const COUNTERS: Record<string, string> = {
  'publish/messages/received': 'messages_received',
  'publish/messages/sent': 'messages_sent',
  /** Messages beyond a client's limits, or of QoS 0 to a slow client. */
  'publish/messages/dropped': 'messages_dropped',
};

const ROOT = '$SYS/broker/';

/** The broker's figures on `$SYS`. Mosquitto 2.0 publishes them every two seconds at most (`sys_interval 1`). */
export class BrokerSys {
  readonly #client: MqttClient;
  readonly #said = new Map<string, string>();

  /** @param url with credentials of a user that may read `$SYS/#`. It reconnects. */
  constructor(url: string) {
    this.#client = connect({
      ...brokerAt(url),
      protocolVersion: 5,
      clientId: `arrival-sys-${randomBytes(4).toString('hex')}`,
      reconnectPeriod: 1000,
    });
    // Subscribes again with each connection. After a refusal there are no figures.
    this.#client.on('connect', () => this.#client.subscribe(`${ROOT}#`, () => {}));
    this.#client.on('error', () => {});
    this.#client.on('close', () => this.#said.clear());
    this.#client.on('message', (topic, payload) =>
      this.#said.set(topic.slice(ROOT.length), payload.toString()),
    );
  }

  /** Mosquitto's version; undefined if none came within `withinMs`. */
  async version(withinMs: number): Promise<string | undefined> {
    const deadline = performance.now() + withinMs;
    while (!this.#said.has('version') && performance.now() < deadline) await sleep(5);
    return this.#said.get('version')?.replace(/^mosquitto version /, '');
  }

  /** The last figures; undefined: none came. */
  figures(): Required<Pick<TelemetryData, 'gauges' | 'counters'>> | undefined {
    const gauges: Record<string, number> = {};
    const counters: Record<string, number> = {};
    for (const [topic, said] of this.#said) {
      const gauge = GAUGES[topic];
      const counter = COUNTERS[topic];
      if (gauge) gauges[gauge] = Number(said);
      if (counter) counters[counter] = Number(said);
    }
    return Object.keys(gauges).length + Object.keys(counters).length === 0 ? undefined : { gauges, counters };
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true);
  }
}

const MB = 1e6;

/** A field of Redis' INFO, or undefined. */
export function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** Figures from Redis' INFO, without fields that this Redis does not report. */
export function redisFigures(info: string): Required<Pick<TelemetryData, 'gauges' | 'counters'>> {
  const number = (name: string) => {
    const text = field(info, name);
    return text === undefined ? undefined : Number(text);
  };
  const mb = (name: string) => {
    const bytes = number(name);
    return bytes === undefined ? undefined : bytes / MB;
  };
  const keys = [...info.matchAll(/^db\d+:keys=(\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  return {
    gauges: reported({
      used_memory_mb: mb('used_memory'),
      ops_per_s: number('instantaneous_ops_per_sec'),
      clients: number('connected_clients'),
      blocked_clients: number('blocked_clients'),
      keys,
      aof_mb: mb('aof_current_size'),
    }),
    counters: reported({
      commands: number('total_commands_processed'),
      evicted_keys: number('evicted_keys'),
      aof_delayed_fsync: number('aof_delayed_fsync'),
      rejected_connections: number('rejected_connections'),
    }),
  };
}

function reported(figures: Record<string, number | undefined>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}
