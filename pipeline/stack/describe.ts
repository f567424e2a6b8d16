/** Describes a stack: `stack.json`, and the versions and settings in it. */

import { openFilesLimit } from '../common/connections.ts';
import { identity } from '../setup/lock.mjs';
import { type IngestConfig, queueOptions, type RelayConfig, type StackConfig } from '../shared/config.ts';
import { type RedisUser, SUBSCRIBER_STATUS } from './access.ts';
import type { Brokers } from './brokers.ts';
import type { StackFile } from './file.ts';
import { AOF_POLICY, BROKER_LIMITS } from './services.ts';
import { field } from './telemetry.ts';
import { HAS_VMSTAT } from './vmstat.ts';

interface Described
  extends Brokers,
    Pick<StackFile, 'ingest' | 'workers' | 'health' | 'facts' | 'processes'> {
  config: StackConfig;
  temporary: boolean;
  redis: Record<RedisUser, string>;
  settings: StackFile['settings'];
  /** Certificates of the authorities, PEM; empty: the built-in ones. */
  ca: string;
}

export function stackFileOf(stack: Described): StackFile {
  const { config, temporary, redis, broker, arrives, more, ca } = stack;
  const mqttUrl = new URL(arrives.subscriber);
  const { username, password } = mqttUrl;
  mqttUrl.username = mqttUrl.password = '';
  const self = identity(process.pid);
  return {
    pid: process.pid,
    ...(self !== undefined && { identity: self }),
    ...(temporary && { temporary }),
    started: new Date().toISOString(),
    topology: config.TOPOLOGY,
    ingest: stack.ingest,
    redis: { url: redis.reader },
    operator: { redisUrl: redis.operator },
    queue: config.QUEUE,
    division: queueOptions(config),
    stages: { redisUrl: redis.ingest, mqttUrl: broker.relay, queueUrl: redis.collector },
    mqtt: {
      url: mqttUrl.toString(),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ...(config.MQTT_URL === undefined && { status: SUBSCRIBER_STATUS }),
      ...(more.length > 0 && { more }),
    },
    workers: stack.workers,
    health: stack.health,
    facts: stack.facts,
    settings: stack.settings,
    ...(ca !== '' && { ca }),
    processes: stack.processes,
  };
}

interface FactSources {
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
