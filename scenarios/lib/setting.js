// The setting of a run: where the pipeline is and what load it gets, from the environment and the files that it names.
import { count, flag, number } from './env.js';
import { labelsOf } from './labels.js';

/** A path as k6's open() takes it: an absolute one as it is, any other seen from `base`. */
function at(base, path) {
  return path.startsWith('/') ? path : import.meta.resolve(`${base}/${path}`);
}

/** What `npm run pipeline` wrote; empty when it is not up. */
function readStack() {
  const path = at('../..', `${__ENV.STACK_DIR || '.stack'}/stack.json`);
  let text;
  try {
    text = open(path);
  } catch (error) {
    if (/no such file|does not exist|cannot find/.test(String(error))) return {};
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${error.message}; it is what the pipeline writes when it starts`);
  }
}

/** A profile with its name for the report: an absolute path, or one seen from scenarios/. */
export function openProfile(path) {
  return { name: path, text: open(at('..', path)) };
}

/** @returns {{ingest: object, mqtt: object, redis: object, ca: string, facts: object}} what new Run() is told of the pipeline */
export function pipeline() {
  const own = Boolean(__ENV.INGEST_URL); // somebody's own pipeline: then nothing of ours is meant
  const stack = own ? {} : readStack();
  const from = (name, ours) => (__ENV[name] ? { url: __ENV[name] } : own ? { url: '' } : ours || { url: '' });
  return {
    ingest: { ...from('INGEST_URL', stack.ingest), ...(__ENV.INGEST_TOKEN && { token: __ENV.INGEST_TOKEN }) },
    mqtt: { ...from('MQTT_URL', stack.mqtt), more: [] }, // what is relayed goes through the first broker; see stages()
    redis: from('REDIS_URL', stack.redis),
    ca: `${(!own && stack.ca) || ''}${__ENV.TLS_CA ? open(at('../..', __ENV.TLS_CA)) : ''}`,
    facts: (!own && stack.facts) || {},
    ...(!own && stack.oneHost && { oneHost: true }),
  };
}

/**
 * For scripts that reach the pipeline by a module with no setting for whom to trust: the authority of a pipeline of ours that speaks
 * TLS is made for each start. pipeline/run.ts names it to k6.
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

/** Where one stage is filled by itself, the queue as the ingest does, the broker as a relay does; and where the queue is emptied. */
export function stages() {
  const stack = readStack();
  const { redisUrl, mqttUrl, queueUrl } = stack.stages || {};
  const from = (name, ours) => __ENV[name] || ours || '';
  const more = (!__ENV.BROKER_URL && readStack().mqtt?.more) || [];
  const mqtt = from('BROKER_URL', mqttUrl).match(/^(\w+:\/\/)(?:([^:@/]*):([^@/]*)@)?(.*)$/);
  return {
    redis: from('QUEUE_URL', redisUrl),
    queue: { url: from('QUEUE_URL', queueUrl), kind: stack.queue || __ENV.QUEUE || 'stream' },
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

/** Refuses more connections than each of the stack's own brokers may have files open, where the system tells that (Linux). */
export function checkBrokerFiles(connections, brokers, remedy) {
  const limit = readStack().facts?.mqtt_open_files ?? Number.POSITIVE_INFINITY;
  if (__ENV.BROKER_URL) return;
  const needed = Math.ceil(connections / brokers) + 100; // subscribers, the relay, its own
  if (needed > limit)
    throw new Error(
      `${connections} connections need ${needed} open files in ${brokers > 1 ? `each of ${brokers} brokers` : 'mosquitto'}, and it may have ${limit}: ` +
        `ulimit -n ${needed} where the pipeline is started, ${remedy}`,
    );
}

/** With SAMPLED=true one message in how many the pipeline leaves in its trace lists, else 0. Throws where it leaves none. */
export function sampled() {
  if (!flag('SAMPLED', false)) return 0;
  const { facts } = __ENV.INGEST_URL ? {} : readStack();
  if (facts?.trace_log_every === 0)
    throw new Error(
      'SAMPLED is true, and the pipeline that is up leaves no trace lists: start it with TRACE_LOG_EVERY=100, or stop it',
    );
  return facts?.trace_log_every ?? count('TRACE_LOG_EVERY', 100);
}

/** What is the same in every script: the pipeline, and where the run's record goes. */
export function setting() {
  const reached = pipeline();
  return {
    ...reached,
    id: __ENV.ID_KEY || 'id',
    topology: __ENV.TOPOLOGY || reached.facts.topology || 'single',
    network: __ENV.NETWORK || 'loopback',
    labels: labelsOf(__ENV.LABELS || ''),
    clock: __ENV.CLOCK_LIMIT ? { limit: __ENV.CLOCK_LIMIT } : {},
    canary: __ENV.CANARY !== 'off',
    dir: __ENV.RUN_DIR || '',
    runId: __ENV.RUN_ID || '',
    gather: number('GATHER', 60),
    runs: import.meta.resolve('../../reports/runs'),
    command: __ENV.ARRIVAL_COMMAND || '',
    template: open(import.meta.resolve('../../reports/dist/index.html')),
  };
}
