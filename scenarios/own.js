// How long do messages take through a pipeline of your own, and what becomes of each?
//   INGEST_URL=http://host:port MQTT_URL=mqtts://user:password@host npm run scenario -- scenarios/own.js
//   … -e INGEST_PATH=/v1/events -e BODY_FILE=/path/body.json -e FILTER='devices/+/events' -e RATE=200 -e P99=100
// The pipeline has to take a POST and to publish the message, with its id, to MQTT.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { fuzz, profileOf } from './lib/load.js';
import { sampled } from './lib/sampled.js';
import { openProfile, setting } from './lib/setting.js';

const shared = setting();
const set = settings('own');

/** The header fields that HEADERS names, beside the token. */
function headers() {
  try {
    return JSON.parse(set.HEADERS);
  } catch {
    throw new Error('HEADERS is not JSON; allowed: {"X-Api-Key":"…"}');
  }
}

const profile = set.PROFILE
  ? openProfile(set.PROFILE)
  : profileOf('own', {
      phases: [
        { name: 'warm-up', duration: set.WARMUP, arrivalRate: set.RATE, measured: false },
        { name: 'steady', duration: set.DURATION, arrivalRate: set.RATE },
      ],
      flows: [{ name: 'own', target: set.TARGET, deliveries: set.DELIVERIES }],
    });

const run = new Run({
  name: 'own',
  ...shared,
  profile,
  ingest: {
    ...shared.ingest,
    ...(set.INGEST_PATH && { path: set.INGEST_PATH, batchPath: set.INGEST_PATH }),
    headers: headers(),
    keepAlive: set.KEEPALIVE,
    retries: set.RETRIES,
  },
  mqtt: {
    ...shared.mqtt,
    prefix: set.TOPIC_PREFIX,
    filter: set.FILTER,
    qos: set.QOS,
    version: set.MQTT_VERSION,
  },
  body: set.BODY ?? (set.BODY_FILE && open(set.BODY_FILE)),
  fuzz: fuzz(set),
  timeout: set.TIMEOUT,
  sampled: sampled(set),
  canary: shared.canary && !set.FILTER,
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: [`value<${set.P99}`] }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
