// One run of the self-test: SELFTEST_RUN has the options of Run as JSON, SELFTEST_CONSUMER those of a script that receives,
// SELFTEST_THRESHOLDS the script's own thresholds, SELFTEST_BURNS for how many seconds a VU uses up a core.
import { sleep } from 'k6';
import { Run } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';

const run = new Run(JSON.parse(__ENV.SELFTEST_RUN));
const { broker, topics, late, stamped } = JSON.parse(__ENV.SELFTEST_CONSUMER || '{}');

const burns = Number(__ENV.SELFTEST_BURNS || 0);
const burner = { executor: 'constant-vus', vus: 1, duration: `${burns}s`, gracefulStop: '0s', exec: 'burn' };

export const options = {
  scenarios: burns > 0 ? { ...run.scenarios(), burner } : run.scenarios(),
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

export function burn() {
  for (const end = Date.now() + burns * 1000; Date.now() < end; );
}

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
