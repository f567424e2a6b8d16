/** Describes a stack for `stack.json`. */
import { queueOptions, type StackConfig } from '../common/config.ts';
import { identity } from '../setup/lock.mjs';
import { type RedisUser, SUBSCRIBER_STATUS } from './access.ts';
import type { Brokers } from './brokers.ts';
import type { StackFile } from './file.ts';

export interface Described
  extends Brokers,
    Pick<StackFile, 'ingest' | 'workers' | 'health' | 'facts' | 'processes'> {
  config: StackConfig;
  temporary: boolean;
  redis: Record<RedisUser, string>;
  settings: NonNullable<StackFile['settings']>;
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
