/** The stack's own processes: their program and their settings. */
import type { StackConfig } from '../shared/config.ts';
import type { BrokerUser, RedisUser } from './access.ts';
import type { Certificate } from './certificates.ts';
import { type Launch, nodeLaunch } from './launch.ts';
import { HOST, type Listen } from './services.ts';

interface WorkerSetting {
  config: StackConfig;
  /** Number of ingests. */
  ingests: number;
  redis: Record<RedisUser, string>;
  broker: Record<BrokerUser, string>;
  /** A file of authorities to trust; empty: the built-in ones. */
  ca: string;
  /** The file of those who may post. */
  tokens: string;
  /** The ingest's port. Behind nginx, which then speaks TLS for them, the ingests listen on ports of their own. */
  port: number;
  listen: Listen;
  certificate: Certificate | undefined;
}

type Environment = Record<string, string>;

interface Workers {
  ingestEnv: Environment;
  relayEnv: Environment;
  launches: Launch[];
}

export function workersOf(setting: WorkerSetting): Workers {
  const { config, ingests, redis, broker, tokens, port, listen, ca } = setting;
  const cluster = config.TOPOLOGY === 'cluster';
  const own = cluster ? undefined : setting.certificate;
  // An empty value overrides a variable that the worker would inherit.
  const env = {
    // The level is at least info: the logs say when the workers are ready.
    LOG_LEVEL: config.LOG_LEVEL === 'debug' ? 'debug' : 'info',
    QUEUE: config.QUEUE,
    QUEUE_PREFIX: config.QUEUE_PREFIX,
    STREAM_SHARDS: String(config.STREAM_SHARDS),
    REDIS_CLUSTER: String(config.REDIS_CLUSTER),
    TRACE_LOG_EVERY: String(config.TRACE_LOG_EVERY),
    ID_KEY: config.ID_KEY,
    TLS_CA: ca,
    HEALTH_PORT: '0',
  };
  const ingestEnv = {
    ...env,
    REDIS_URL: redis.ingest,
    INGEST_HOST: cluster ? HOST : listen,
    INGEST_PORT: cluster ? '0' : String(port),
    INGEST_TOKEN: '',
    MQTT_URL: broker.relay.replace(/\/\/.*@/, '//'),
    INGEST_TOKENS_FILE: tokens,
    INGEST_TLS_CERT: own?.cert ?? '',
    INGEST_TLS_KEY: own?.key ?? '',
    STAMPS: String(config.STAMPS),
    INGEST_SHARED_PORT: String(ingests > 1 && !cluster),
  };
  const relayEnv = {
    ...env,
    REDIS_URL: redis.relay,
    MQTT_URL: broker.relay,
    MQTT_QOS: String(config.MQTT_QOS),
    RELAY_MODE: config.RELAY_MODE,
  };
  return {
    ingestEnv,
    relayEnv,
    launches: [
      ...named('ingest', ingests, 'ingest/server.ts', ingestEnv),
      ...named('relay', config.RELAY_WORKERS, 'relay/main.ts', relayEnv),
    ],
  };
}

function named(role: string, count: number, script: string, env: Environment): Launch[] {
  return Array.from({ length: count }, (_, i) => nodeLaunch(`${role}-${i + 1}`, script, env));
}
