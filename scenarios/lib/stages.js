// For scripts that fill a stage by themselves, with modules of their own.
import * as declarations from './declarations.js';
import { read } from './env.js';
import { at, readStack } from './stack.js';

/**
 * For scripts that reach the pipeline by a module with no setting for whom to trust: the authority of a pipeline of ours that speaks
 * TLS is made for each start. scenarios/run/run.ts names it to k6.
 * @param {string} module
 */
export function checkTrust(module) {
  const { ca } = readStack();
  const trusted = __ENV.SSL_CERT_FILE;
  if (__ENV.INGEST_URL || !ca || (trusted && open(at('../..', trusted)).includes(ca.trim()))) return;
  const file = `${__ENV.STACK_DIR || '.stack'}/tls/ca.pem`;
  throw new Error(
    `the pipeline speaks TLS, and ${module} does not know its authority: set SSL_CERT_FILE=${file}`,
  );
}

/**
 * Where one stage is filled by itself, the queue as the ingest does, the broker as a relay does; and where the queue is emptied.
 * @returns {{ redis: string, queue: { url: string, kind: 'stream' | 'list' }, mqtt: { url: string, username?: string, password?: string, more?: string[] } }}
 */
export function stages() {
  const stack = readStack();
  const { redisUrl = '', mqttUrl = '', queueUrl = '' } = stack.stages || {};
  const set = read({ ...declarations.queue(), ...declarations.broker() });
  const more = (!set.BROKER_URL && stack.mqtt?.more) || [];
  const mqtt = (set.BROKER_URL ?? mqttUrl).match(/^(\w+:\/\/)(?:([^:@/]*):([^@/]*)@)?(.*)$/);
  return {
    redis: set.QUEUE_URL ?? redisUrl,
    queue: { url: set.QUEUE_URL ?? queueUrl, kind: stack.queue || set.QUEUE },
    mqtt: mqtt
      ? {
          url: mqtt[1] + mqtt[4],
          username: decodeURIComponent(mqtt[2] || ''),
          password: decodeURIComponent(mqtt[3] || ''),
          more,
        }
      : { url: '' },
  };
}

/** Where the one key is that holds the queue. Throws where it is divided: each shard has a key of its own. */
export function queue() {
  const { shards = 1, cluster = false } = (!__ENV.QUEUE_URL && readStack().division) || {};
  if (shards > 1 || cluster)
    throw new Error(
      `the queue has ${shards} shards${cluster ? ' in a Redis Cluster' : ''}, and this script knows one that is not divided: ` +
        `leave out STREAM_SHARDS${cluster ? ', and let REDIS_URL be one Redis' : ''}`,
    );
  const { redis, queue: own } = stages();
  return { redis, ...own };
}

/**
 * Refuses more connections than each of the stack's own brokers may have files open, where the system reports it (Linux).
 * @param {number} connections
 * @param {number} brokers
 * @param {string} remedy
 */
export function checkBrokerFiles(connections, brokers, remedy) {
  const limit = Number(readStack().facts?.mqtt_open_files ?? Number.POSITIVE_INFINITY);
  if (__ENV.BROKER_URL) return;
  const needed = Math.ceil(connections / brokers) + 100; // subscribers, the relay, its own
  if (needed > limit)
    throw new Error(
      `${connections} connections need ${needed} open files in ${brokers > 1 ? `each of ${brokers} brokers` : 'mosquitto'}, and it may have ${limit}: ` +
        `ulimit -n ${needed} where the pipeline is started, ${remedy}`,
    );
}
