// How long does a message take from when it is due until a subscriber has it?
//   INGEST_URL=http://127.0.0.1:8080 MQTT_URL=mqtt://127.0.0.1:1883 ./k6 run extensions/k6/examples/arrival.js
import { Run } from 'k6/x/arrival';

const run = new Run({
  profile: 'phases: [{name: steady, duration: 5, arrivalRate: 50}]\nflows: [{name: direct}]',
  ingest: { url: __ENV.INGEST_URL, token: __ENV.INGEST_TOKEN || '' },
  mqtt: { url: __ENV.MQTT_URL },
  runs: __ENV.RUNS || 'reports/runs',
  dir: __ENV.RUN_DIR || '',
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ arrival_p99: ['value<1000'] }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
