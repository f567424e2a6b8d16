// Settings and profiles of scripts that load one stage with other modules.
import * as declarations from './declarations.js';
import { read } from './env.js';
import { at, readStack } from './stack.js';

/**
 * Throws when a module without a setting for authorities would not trust our pipeline, whose authority is new at each start.
 * scenarios/run/run.ts passes it to k6.
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
 * Addresses for loading one stage: the queue in place of the ingest, the broker in place of a relay.
 * @returns {{ redis: string, queue: { url: string, kind: 'stream' | 'list', prefix: string }, mqtt: { url: string, username?: string, password?: string, more?: string[] } }}
 */
export function stages() {
  const stack = readStack();
  const { redisUrl = '', mqttUrl = '', queueUrl = '' } = stack.stages || {};
  const set = read({ ...declarations.queue(), ...declarations.broker() });
  const prefix = __ENV.QUEUE_PREFIX || (!set.QUEUE_URL && stack.division?.prefix) || 'arrival';
  const more = (!set.BROKER_URL && stack.mqtt?.more) || [];
  const broker = set.BROKER_URL ?? mqttUrl;
  // The brokers beside it have the same user. The extension refuses any other form, and says why.
  const mqtt = broker.match(/^(\w+:\/\/)([^:@/?#%]+):((?:[^@/?#%]|%[0-9a-f]{2})+)@([^@]*)$/i);
  return {
    redis: set.QUEUE_URL ?? redisUrl,
    queue: { url: set.QUEUE_URL ?? queueUrl, kind: (!set.QUEUE_URL && stack.queue) || set.QUEUE, prefix },
    mqtt: mqtt
      ? {
          url: mqtt[1] + mqtt[4],
          username: mqtt[2],
          password: decodeURIComponent(mqtt[3] || ''),
          more,
        }
      : { url: broker, more },
  };
}

/** The queue's Redis and kind. Throws for shards, as each has its own key. */
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
 * Refuses more connections than a broker of the stack may have files open (Linux).
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
