// How long does a message take at a steady load, and what becomes of each?
//   INGEST_URL=http://host:port MQTT_URL=mqtts://user:password@host npm run scenario -- scenarios/own.js
//   … -e INGEST_PATH=/v1/events -e BODY_FILE=/path/body.json -e FILTER='devices/+/events' -e RATE=200 -e P99=100
//   ARRIVE=webhook INGEST_URL=http://host:port npm run scenario -- scenarios/own.js -e WEBHOOK_ADDRESS=:9000
// The pipeline has to take a POST and to deliver the message, with its id, where ARRIVE says.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { steadily } from './lib/own.js';
import { openProfile, setting } from './lib/setting.js';

const set = settings('own');

const profile = set.PROFILE
  ? openProfile(set.PROFILE, ['RATE', 'DURATION', 'WARMUP'])
  : steadily('own', set, { name: 'own', target: 'user' });

const run = new Run({
  name: 'own',
  ...setting('own'),
  profile,
  maxSenders: set.SENDERS,
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
