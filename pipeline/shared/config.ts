/** The settings of each role, as the environment has them. */
import { type Static, Type } from '@sinclair/typebox';

import { address } from './read-config.ts';

export { ConfigError, describe, readConfig, readFileOf, withoutPassword } from './read-config.ts';

const port = (fallback: number, what: string) =>
  Type.Integer({
    minimum: 0,
    maximum: 65535,
    default: fallback,
    description: `${what}; 0 chooses a free one`,
  });
const count = (fallback: number, minimum: number, maximum: number, what: string) =>
  Type.Integer({ minimum, maximum, default: fallback, description: what });
/** What a token may be. In a file of tokens # begins a comment. */
export const TOKEN = {
  pattern: '^(?!#)[!-~]{8,256}$',
  description: '8 to 256 printable ASCII characters, no space, # not first',
};
const FILE = (what: string) => Type.String({ minLength: 1, description: `a file with ${what}` });

const logging = {
  LOG_LEVEL: Type.Union(
    (['debug', 'info', 'warn', 'error', 'silent'] as const).map((level) => Type.Literal(level)),
    { default: 'info', description: 'debug, info, warn, error or silent' },
  ),
};

/** The kinds of queue (queue/open.ts), the default one first. */
const QUEUES = {
  stream: 'at least once',
  list: 'LPUSH and BLMOVE: at most once when a relay dies',
};
export type QueueKind = keyof typeof QUEUES;
const KINDS = Object.keys(QUEUES) as QueueKind[];

const QUEUE = Type.Union(
  KINDS.map((kind) => Type.Literal(kind)),
  {
    default: KINDS[0],
    description: KINDS.map((kind) => `${kind} (${QUEUES[kind]})`).join(', or '),
  },
);
const PREFIX = {
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'before the keys in Redis: 1 to 64 letters, digits, _, . and -; its own for each pipeline',
};
const queue = {
  QUEUE,
  QUEUE_PREFIX: Type.String({ ...PREFIX, default: 'arrival' }),
  STREAM_SHARDS: count(1, 1, 256, 'shards of the stream; the same in every process'),
  REDIS_CLUSTER: Type.Boolean({
    default: false,
    description: 'true: REDIS_URL names one node of a Redis Cluster',
  }),
};
const BROKER_NAME = Type.Optional(
  Type.String({ minLength: 1, description: 'the same for all, if different MQTT_URLs lead to one broker' }),
);
const trust = {
  TLS_CA: Type.Optional(FILE('certificates of authorities to trust beside the built-in ones, PEM')),
};

const process_ = {
  ...logging,
  ...trust,
  PROCESS_NAME: Type.String({ minLength: 1, description: 'the name in logs and telemetry, like relay-1' }),
  REDIS_URL: address('redis'),
  ...queue,
  REDIS_TIMEOUT_MS: count(2000, 50, 600_000, 'ms without an answer until the connection counts as dead'),
  HEALTH_HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: "the address that the process's own port listens on",
  }),
  HEALTH_PORT: port(0, "the process's own port for /livez, /readyz and /metrics"),
};

const MQTT_QOS = Type.Integer({ minimum: 0, maximum: 1, default: 1, description: '0 or 1' });

const RELAY_MODE = Type.Union([Type.Literal('pipelined'), Type.Literal('serial')], {
  default: 'pipelined',
  description: 'pipelined, or serial (one message at a time)',
});

const TRACE_LOG_EVERY = count(0, 0, 1e9, 'every n-th message has its times in Redis lists; 0: none');

const STAMPS = Type.Boolean({
  default: true,
  description: 'false: messages carry no stamps, so the run reports no stages',
});

const ID_KEY = Type.String({
  pattern: '^(?!(target|source|payload)([.]|$))[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$',
  default: 'id',
  description: 'key of the id in a message, like meta.id; not in target, source or payload',
});

export const IngestConfig = Type.Object({
  ...process_,
  INGEST_HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'the address to listen on' }),
  INGEST_PORT: port(18080, 'the port to listen on'),
  INGEST_SHARED_PORT: Type.Boolean({ default: false, description: 'true: other ingests listen there too' }),
  INGEST_TOKEN: Type.Optional(Type.String(TOKEN)),
  INGEST_TOKENS_FILE: Type.Optional(FILE('tokens, one a line; read again when it changes and at SIGHUP')),
  INGEST_TLS_CERT: Type.Optional(FILE('the certificate and its chain, PEM; with it the ingest speaks TLS')),
  INGEST_TLS_KEY: Type.Optional(FILE('the private key of the certificate, PEM')),
  BACKLOG_LIMIT: count(100_000, 1, 1e9, 'messages in the queue at which the ingest answers 503'),
  THROTTLE_BACKLOG: count(
    0,
    0,
    1e9,
    'messages in the queue at which the ingest delays answers, by up to 100 ms; 0: never',
  ),
  LINGER_MS: count(0, 0, 100, 'ms that the ingest gathers messages for a write to Redis; 0: does not wait'),
  STAMPS,
  // An MQTT packet holds 268,435,455 bytes (MQTT 5, 1.5.5), with topic and hops.
  BODY_LIMIT: count(1_048_576, 64, 268_435_455 - 1024, 'bytes of one request body'),
  BATCH_LIMIT: count(1000, 1, 10_000, 'messages of one batch'),
  REQUEST_LIMIT: count(2000, 1, 100_000, 'open requests at which the ingest answers 503'),
  MEMORY_LIMIT: count(16_777_216, 64, 4e9, 'bytes of their bodies at which the ingest answers 503'),
  TRACE_LOG_EVERY,
  CONNECTION_LIMIT: count(4096, 1, 1e6, 'connections; the ingest closes further ones'),
  HEADERS_TIMEOUT_MS: count(10_000, 100, 600_000, 'ms to receive the headers of a request'),
  REQUEST_TIMEOUT_MS: count(30_000, 100, 3_600_000, 'ms to receive a request'),
  ID_KEY,
  BROKER_NAME,
  MQTT_URL: Type.Optional(
    address('broker', 'the broker of its relays: it does not start while living relays have another one'),
  ),
});

export const RelayConfig = Type.Object({
  ...process_,
  MQTT_URL: address('broker'),
  BROKER_NAME,
  MQTT_QOS,
  MQTT_TIMEOUT_MS: count(10_000, 100, 600_000, 'ms without a PUBACK until the connection counts as dead'),
  RELAY_MODE,
  RELAY_BATCH: count(500, 1, 10_000, 'messages taken from the queue at once'),
  RELAY_WINDOW: count(1000, 1, 65_000, 'messages in flight to the broker at once'),
  RELAY_MEMORY: count(
    67_108_864,
    1,
    1e12,
    'bytes of claimed messages at which the relay stops claiming; it uses about twice as many',
  ),
  RELAY_LEASE_MS: count(30_000, 100, 3_600_000, 'ms of silence until another relay takes over'),
  RELAY_DELIVERIES: count(5, 1, 1000, 'attempts before a message becomes a dead letter'),
  READY_BACKLOG: count(100_000, 1, 1e9, 'messages in the queue at which /readyz names the backlog'),
  RELAY_GRACE_MS: count(10_000, 0, 600_000, 'ms to finish what is in flight after SIGTERM'),
  TRACE_LOG_EVERY,
  ID_KEY,
});

const affinity = {
  CPU_AFFINITY: Type.Optional(
    Type.String({
      description: 'CPUs of components, as "ingest=0 redis=0 relay=1 mosquitto=1 k6=1"; default: all',
    }),
  ),
};

const PRIORITY = Type.Union([Type.Literal('drain'), Type.Literal('none')], {
  default: 'drain',
  description: 'drain: full cores go to relay, Redis and broker, then to the generator; none: equal shares',
});

export const StackConfig = Type.Object({
  ...logging,
  ...trust,
  ...affinity,
  PRIORITY,
  TLS: Type.Boolean({
    default: false,
    description: 'true: all servers speak TLS, with certificates made for this start',
  }),
  STACK_DIR: Type.String({
    minLength: 1,
    default: '.stack',
    description: 'a directory for the stack: new, empty, or its own',
  }),
  INGEST_PORT: port(18080, "the ingest's port"),
  REDIS_PORT: port(16379, "Redis' port"),
  MQTT_PORT: port(11883, "Mosquitto's port"),
  BROKERS: count(1, 1, 16, 'Mosquitto processes; relays publish to the first'),
  BRIDGE: Type.Boolean({
    default: false,
    description: 'true: bridges join the BROKERS in a row; subscribers listen at the last',
  }),
  TOPOLOGY: Type.Union([Type.Literal('single'), Type.Literal('cluster')], {
    default: 'single',
    description: 'single, or cluster: nginx before several ingests',
  }),
  INGEST_WORKERS: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 64, description: 'ingest processes (1; with cluster 2)' }),
  ),
  RELAY_WORKERS: count(1, 0, 64, 'relay processes; 0 leaves messages in the queue, for scenarios/ingest.js'),
  INGEST_TOKEN: Type.Optional(Type.String(TOKEN)),
  ...queue,
  RELAY_MODE,
  MQTT_QOS,
  STAMPS,
  TRACE_LOG_EVERY,
  ID_KEY,
  REDIS_URL: Type.Optional(address('redis')),
  MQTT_URL: Type.Optional(address('broker')),
  DRAIN_LIMIT_MS: count(30_000, 0, 3_600_000, 'ms for relays to empty the queue when the stack stops'),
});

export const DeadLettersConfig = Type.Object({
  STACK_DIR: StackConfig.properties.STACK_DIR,
  REDIS_URL: StackConfig.properties.REDIS_URL,
  REDIS_TIMEOUT_MS: process_.REDIS_TIMEOUT_MS,
  ...queue,
  QUEUE: Type.Union(QUEUE.anyOf, {
    ...QUEUE,
    description: `with REDIS_URL, what its messages go back into: ${QUEUE.description}`,
  }),
  ID_KEY,
  ...trust,
});

const LABEL = {
  pattern: '^[A-Za-z0-9_.]+$',
  description: 'letters, digits, _ and .: it is part of a file name',
};

export const RunConfig = Type.Object({
  STACK_DIR: StackConfig.properties.STACK_DIR,
  INGEST_URL: Type.Optional(address('http')),
  REDIS_URL: StackConfig.properties.REDIS_URL,
  MQTT_URL: Type.Optional(address('mqtt')),
  QUEUE_PREFIX: Type.Optional(Type.String(PREFIX)),
  TLS: StackConfig.properties.TLS,
  ...trust,
  ...affinity,
  TOPOLOGY: Type.Optional(Type.String(LABEL)),
  NETWORK: Type.String({ default: 'loopback', ...LABEL }),
});

/** The options of {@link openQueue}, from a process's settings. */
export function queueOptions(config: {
  QUEUE_PREFIX: string;
  REDIS_CLUSTER: boolean;
  STREAM_SHARDS: number;
  RELAY_LEASE_MS?: number;
}): { prefix: string; cluster: boolean; shards: number; leaseMs?: number } {
  const { QUEUE_PREFIX: prefix, REDIS_CLUSTER: cluster, STREAM_SHARDS: shards } = config;
  const { RELAY_LEASE_MS: leaseMs } = config;
  return { prefix, cluster, shards, ...(leaseMs !== undefined && { leaseMs }) };
}

export type RunConfig = Static<typeof RunConfig>;
export type IngestConfig = Static<typeof IngestConfig>;
export type RelayConfig = Static<typeof RelayConfig>;
export type StackConfig = Static<typeof StackConfig>;
export type DeadLettersConfig = Static<typeof DeadLettersConfig>;
