// How long do messages take through a pipeline of your own, and what becomes of each?
//   INGEST_URL=http://host:port MQTT_URL=mqtts://user:password@host npm run scenario -- scenarios/own.js
//   … -e INGEST_PATH=/v1/events -e BODY_FILE=/path/body.json -e FILTER='devices/+/events' -e RATE=200 -e P99=100
// What it has to do: take a POST, and publish what came of it to MQTT with the id in it. scenarios/README.md has every setting.
import { Run } from 'k6/x/arrival';
import { count, flag, number } from './lib/env.js';
import { profileOf } from './lib/load.js';
import { sampled } from './lib/sampled.js';
import { openProfile, setting } from './lib/setting.js';

const shared = setting();

/** The header fields that HEADERS names, beside the token. */
function headers() {
  try {
    return JSON.parse(__ENV.HEADERS || '{}');
  } catch {
    throw new Error('HEADERS is not JSON; allowed: {"X-Api-Key":"…"}');
  }
}

const profile = __ENV.PROFILE
  ? openProfile(__ENV.PROFILE)
  : profileOf('own', {
      phases: [
        {
          name: 'warm-up',
          duration: number('WARMUP', 5, { min: 0.1 }),
          arrivalRate: number('RATE', 100),
          measured: false,
        },
        { name: 'steady', duration: number('DURATION', 30, { min: 1 }), arrivalRate: number('RATE', 100) },
      ],
      flows: [
        {
          name: 'own',
          target: __ENV.TARGET || 'user',
          deliveries: count('DELIVERIES', 1, { max: 32 }),
        },
      ],
    });

const run = new Run({
  name: 'own',
  ...shared,
  profile,
  ingest: {
    ...shared.ingest,
    ...(__ENV.INGEST_PATH && { path: __ENV.INGEST_PATH, batchPath: __ENV.INGEST_PATH }),
    headers: headers(),
    keepAlive: flag('KEEPALIVE', true),
    retries: number('RETRIES', 0, { max: 100, whole: true }),
  },
  mqtt: {
    ...shared.mqtt,
    ...(__ENV.TOPIC_PREFIX !== undefined && { prefix: __ENV.TOPIC_PREFIX }),
    filter: __ENV.FILTER || '',
    qos: number('QOS', 1, { max: 2, whole: true }),
    version: __ENV.MQTT_VERSION || '5',
  },
  body: __ENV.BODY || (__ENV.BODY_FILE ? open(__ENV.BODY_FILE) : ''),
  timeout: number('TIMEOUT', 10, { min: 0.1 }),
  sampled: sampled(),
  canary: shared.canary && !__ENV.FILTER,
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: [`value<${number('P99', 250)}`] }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
