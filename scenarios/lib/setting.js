// The setting of a run: where the pipeline is and what load it gets, from the environment and the files that it names.
import { choice, count, number } from './env.js';
import { labelsOf } from './labels.js';
import { at, readStack } from './stack.js';

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
    canary: ['true', 'on'].includes(choice('CANARY', ['true', 'on', 'false', 'off'])),
    everyFlow: {
      payloadBytes: number('PAYLOAD_BYTES', undefined, { max: 1_048_576, whole: true }),
      targets: count('TARGETS', undefined, { max: 100_000 }),
    },
    dir: __ENV.RUN_DIR || '',
    runId: __ENV.RUN_ID || '',
    gather: number('GATHER', 60),
    runs: at('../..', 'reports/runs'),
    command: __ENV.ARRIVAL_COMMAND || '',
    template: open(at('../..', 'reports/dist/index.html')),
  };
}
