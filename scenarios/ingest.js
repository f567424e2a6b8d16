// How fast is the ingest by itself? A message has arrived when the run reads it from the queue, without relay and broker.
//   RELAY_WORKERS=0 npm run scenario -- scenarios/ingest.js              1,000/s for 20 s, over 64 connections
//   RELAY_WORKERS=0 npm run scenario -- scenarios/ingest.js -e RATE=5000 -e DURATION=60 -e CONNECTIONS=128
//   QUEUE=list RELAY_WORKERS=0 npm run scenario -- scenarios/ingest.js   the same with a list
// The stage `queue` is from the write until the read; there are no later stages.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { queue } from './lib/stages.js';
import { rate as perSecond } from './lib/words.js';

const shared = setting('ingest');
const relays = Number(shared.facts.relay_workers ?? 0);
if (relays > 0)
  throw new Error(
    `the pipeline has ${relays} relays, which would take the messages: start it with RELAY_WORKERS=0`,
  );
const own = queue();

const { RATE, DURATION, CONNECTIONS } = settings('ingest');
const run = new Run({
  name: 'ingest',
  ...shared,
  queue: { url: own.url, kind: own.kind, prefix: own.prefix },
  profile: profileOf(`${perSecond(RATE, 'requests')} into the ingest`, {
    phases: [{ name: 'steady', duration: DURATION, arrivalRate: RATE }],
    flows: flows.direct,
  }),
  senders: 4,
  inFlight: 16,
  maxSenders: CONNECTIONS,
  canary: false, // it uses relay and broker
});

export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
