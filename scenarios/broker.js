// How fast is the broker by itself? The script publishes messages as the relay does.
//   npm run scenario -- scenarios/broker.js                        1,000/s for 20 s, QOS 1, over 16 connections
//   … -e RATE=5000 -e DURATION=60 -e QOS=0 -e SENDERS=32
// All of the time is the stage `delivery`; *MQTT* is the time until the PUBACK.
import { Run } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkTrust, stages } from './lib/stages.js';
import { rate as perSecond } from './lib/words.js';

checkTrust('k6/x/mqtt');

const { RATE, DURATION, QOS, SENDERS } = settings('broker');
const run = new Run({
  name: 'broker',
  protocol: 'MQTT',
  ...setting('broker'),
  profile: profileOf(`${perSecond(RATE, 'requests')} into the broker`, {
    phases: [{ name: 'steady', duration: DURATION, arrivalRate: RATE }],
    flows: flows.direct,
  }),
  senders: SENDERS,
  canary: false, // it uses the ingest
});

// A sender has one iteration: its connection lasts as long as the load.
export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

const { url, username, password } = stages().mqtt;

export function subscriber() {
  run.collect();
}

export function sender() {
  const client = new Client({ protocol_version: 5, username, password });
  client.connect(url);
  for (let slot = run.next(); slot !== null; slot = run.next()) {
    // pipeline/shared/hops.ts: received, then the stages, which this load skips
    const properties = { user: { hops: `${slot.stamp},0,0,0` } };
    let status = 0;
    try {
      client.publish(`messages/${slot.targets[0]}`, slot.body, { qos: QOS, properties });
      status = 202;
    } finally {
      run.settle(slot, status);
    }
  }
  client.end();
}

export const handleSummary = run.summary;
