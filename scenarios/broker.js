// How fast is the broker by itself? Messages are published to it as the relay would.
//   npm run scenario -- scenarios/broker.js                        1,000/s for 20 s, QOS 1, over 16 connections
//   … -e RATE=5000 -e DURATION=60 -e QOS=0 -e SENDERS=32           messages/s, s, 0 or 1, connections
// Same messages, ledger and report: all of the time is `delivery`, and *MQTT* is the time until the PUBACK.
import { Run } from 'k6/x/arrival';
import { Client } from 'k6/x/mqtt';
import { count, number } from './lib/env.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkTrust, stages } from './lib/stages.js';

checkTrust('k6/x/mqtt');

const rate = number('RATE', 1000, { min: 1 });
const qos = number('QOS', 1, { max: 1, whole: true });
const run = new Run({
  name: 'broker',
  protocol: 'MQTT',
  ...setting(),
  profile: profileOf(`${rate}/s into the broker`, {
    phases: [{ name: 'steady', duration: number('DURATION', 20, { min: 0.5 }), arrivalRate: rate }],
    flows: flows.direct,
  }),
  senders: count('SENDERS', 16, { max: 1000 }),
  canary: false, // it would go through the ingest
});

// One iteration for each sender: its connection lasts as long as the load.
export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

const { url, username, password } = stages().mqtt;

export function subscriber() {
  run.collect();
}

export function sender() {
  const client = new Client({ protocol_version: 5, username, password });
  client.connect(url);
  for (let slot = run.next(); slot !== null; slot = run.next()) {
    // pipeline/hops.ts: received, and the stages since then, which are not gone through here
    const properties = { user: { hops: `${slot.stamp},0,0,0` } };
    let status = 0;
    try {
      client.publish(`messages/${slot.targets[0]}`, slot.body, { qos, properties });
      status = 202;
    } finally {
      run.settle(slot, status);
    }
  }
  client.end();
}

export const handleSummary = run.summary;
