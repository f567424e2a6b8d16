// How many MQTT connections does the broker hold at once, and what does each cost?
// Devices connect one after the other, stay, and publish now and then.
//   npm run scenario -- scenarios/connections.js       160/s up to 15,000, each publishing every 6 s, 30 s with all of them
//   BROKERS=3 npm run scenario -- scenarios/connections.js -e CONNECTIONS=19000      spread over three brokers
//   … -e CONNECTIONS=19000 -e CONNECT_RATE=500 -e EVERY=6 -e DURATION=60 -e QOS=1 -e CANARY_P99=50
// The connections are goroutines of one VU. The account has all messages that they publish; all of the time is `delivery`.
// The canary goes through the whole pipeline once a second, over its own connections. All of its messages have to arrive in time.
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { checkBrokerFiles, stages } from './lib/stages.js';
import { rate as perSecond, UNKNOWN } from './lib/words.js';

const set = settings('connections');
const { CONNECTIONS: connections, CONNECT_RATE: rate, DURATION: hold } = set;
const opening = Math.max(0.5, connections / rate);
const messages = connections / set.EVERY;
const { mqtt } = stages();
const brokers = 1 + (mqtt.more?.length ?? 0);
checkBrokerFiles(connections, brokers, 'more BROKERS there, or fewer CONNECTIONS');
const where = setting('connections');

const run = new Run({
  name: 'connections',
  ...where,
  mqtt: { ...where.mqtt, more: mqtt.more },
  profile: profileOf(`${connections} connections, ${perSecond(rate, 'requests')}`, {
    phases: [
      { name: 'open', duration: opening, arrivalRate: Math.min(1, messages), rampTo: messages },
      { name: 'hold', duration: hold, arrivalRate: messages },
    ],
    flows: flows.direct,
  }),
  publishers: { ...mqtt, connections, rate, qos: set.QOS },
  question: { kind: 'connections' },
});

const missing = new Gauge('connections_missing');
const canary = new Gauge('connections_canary_p99_ms');
const astray = new Gauge('connections_canary_missing');

export const options = {
  scenarios: run.scenarios({ pump: true }),
  thresholds: run.thresholds({
    connections_missing: ['value==0'],
    connections_canary_p99_ms: [`value<${set.CANARY_P99}`],
    connections_canary_missing: ['value==0'], // a lost canary has no latency
  }),
};

export function subscriber() {
  run.collect();
  const { facts, canary: outside } = run.result();
  missing.add(facts.connections?.missing ?? UNKNOWN);
  if (outside) {
    run.figure('canary p99', outside.latency.p99 ?? Number.NaN, 'ms');
    canary.add(outside.latency.p99 ?? UNKNOWN);
    astray.add(facts.connections?.canary_missing ?? UNKNOWN);
  }
  for (const { process, memory_kb, cpu_us_per_s } of facts.connections?.costs ?? []) {
    run.figure(`memory of ${process} for each`, memory_kb ?? Number.NaN, 'KB');
    run.figure(`CPU of ${process} for each`, cpu_us_per_s ?? Number.NaN, 'µs/s');
  }
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
