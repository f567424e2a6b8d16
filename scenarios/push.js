// How long does a message take to each of its receivers while many clients are held?
//   INGEST_URL=http://host:port npm run scenario -- scenarios/push.js -e WEBSOCKET_URL=ws://host/ws/{{target}}
//   … -e ARRIVE=sse -e SSE_URL=http://host/events/{{target}} -e CLIENTS=5000 -e DELIVERIES=10
// The pipeline of your own has to take a POST and to push the message to the clients of its target.
import { Run } from 'k6/x/arrival';
import { targeted } from './lib/arrive.js';
import { settings } from './lib/declarations.js';
import { steadily } from './lib/own.js';
import { setting } from './lib/setting.js';

const set = settings('push');
const { CLIENTS: clients, DELIVERIES: deliveries } = set;
if (clients % deliveries !== 0)
  throw new Error(`CLIENTS is ${clients}, and DELIVERIES ${deliveries}; allowed: a multiple of it`);
const { websocket, sse, flows, ...shared } = setting('push');
const inAddress = targeted((websocket ?? sse)?.url);
// With {{target}} in the address there is a client for each target and delivery.
const connections = inAddress ? undefined : clients;
const named = Array.isArray(shared.everyFlow.targets);
if (inAddress && named && __ENV.CLIENTS)
  throw new Error(
    'CLIENTS is the names of TARGETS by DELIVERIES with {{target}} in the address: leave it out',
  );
if (inAddress && !named && __ENV.TARGETS)
  throw new Error('TARGETS is CLIENTS divided by DELIVERIES with {{target}} in the address: leave it out');

const run = new Run({
  name: 'push',
  ...shared,
  profile: steadily('push', set, { name: 'push', target: 'room' }),
  flows: flows?.map((flow) => ({ ...flow, name: 'push', targets: clients / deliveries })),
  ...(sse ? { sse: { ...sse, connections } } : websocket && { websocket: { ...websocket, connections } }),
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
