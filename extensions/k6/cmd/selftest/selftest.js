// One run of the self-test: SELFTEST_RUN has the options of Run as JSON, SELFTEST_CONSUMER those of a script that receives,
// SELFTEST_THRESHOLDS the script's own thresholds.
import { sleep } from 'k6';
import { Run } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';

const run = new Run(JSON.parse(__ENV.SELFTEST_RUN));
const { broker, topics, late, stamped } = JSON.parse(__ENV.SELFTEST_CONSUMER || '{}');

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds(JSON.parse(__ENV.SELFTEST_THRESHOLDS)),
};

export function consumer() {
  const client = new Client({ protocol_version: 5 });
  client.on('message', (_topic, payload, { received }) => {
    sleep(late);
    run.arrived(payload, stamped ? { at: received } : {});
  });
  client.connect(broker);
  for (const topic of topics) client.subscribe(topic, { qos: 1 });
  run.subscribed().then(() => client.end());
}

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
