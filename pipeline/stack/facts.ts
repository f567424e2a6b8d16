import type { IngestConfig, RelayConfig, StackConfig } from '../common/config.ts';
import { openFilesLimit } from '../common/connections.ts';
import type { StackFile } from './file.ts';
import { field } from './redis-info.ts';
import { AOF_POLICY, BROKER_LIMITS } from './services.ts';
import { HAS_VMSTAT } from './vmstat.ts';

export interface FactSources {
  config: StackConfig;
  workers: { ingest: number; relay: number };
  ingest: IngestConfig;
  relay: RelayConfig;
  /** Redis' INFO. */
  redisInfo: string;
  mosquittoVersion: string | undefined;
  nginxVersion: string | undefined;
  /** The text of {@link named}. */
  priority: string;
}

/** Versions and settings for reports. For servers that are not ours only what they report. */
export function facts(sources: FactSources): StackFile['facts'] {
  const { config, workers, ingest, relay, redisInfo } = sources;
  const all: Record<string, string | number | boolean | undefined> = {
    topology: config.TOPOLOGY,
    ingest_workers: workers.ingest,
    relay_workers: workers.relay,
    brokers: config.BROKERS,
    bridge: config.BRIDGE,
    queue: config.QUEUE,
    stream_shards: config.STREAM_SHARDS,
    relay_mode: relay.RELAY_MODE,
    stamps: config.STAMPS,
    trace_log_every: config.TRACE_LOG_EVERY,
    tls: config.TLS,
    cpu_affinity: config.CPU_AFFINITY,
    priority: sources.priority,
    mqtt_qos: relay.MQTT_QOS,
    backlog_limit: ingest.BACKLOG_LIMIT,
    throttle_backlog: ingest.THROTTLE_BACKLOG,
    linger_ms: ingest.LINGER_MS,
    relay_batch: relay.RELAY_BATCH,
    relay_window: relay.RELAY_WINDOW,
    relay_memory: relay.RELAY_MEMORY,
    node: process.versions.node,
    redis: field(redisInfo, 'redis_version'),
    redis_aof: field(redisInfo, 'aof_enabled') === '1' ? 'on' : 'off',
    mosquitto: sources.mosquittoVersion,
    nginx: sources.nginxVersion,
    host_figures: HAS_VMSTAT ? 'vmstat' : `not available on ${process.platform}`,
  };
  if (config.REDIS_URL === undefined) all.redis_aof = `on, appendfsync ${AOF_POLICY}`;
  if (config.MQTT_URL === undefined) {
    all.mqtt_tcp_nodelay = true;
    all.mqtt_max_inflight_messages = BROKER_LIMITS.inflight;
    all.mqtt_max_queued_messages = BROKER_LIMITS.queued;
    all.mqtt_open_files = openFilesLimit(); // bounds its connections
  }
  return Object.fromEntries(
    Object.entries(all).filter((fact): fact is [string, string | number | boolean] => fact[1] !== undefined),
  );
}
