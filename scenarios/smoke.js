// Does the whole pipeline work, from the ingest to the subscriber?
//   npm run smoke                      also -e DURATION=5 -e RATE=50
//   ./k6 run scenarios/smoke.js        with `npm run pipeline` up in another terminal
// It fails when a message is refused, lost, or missing after the drain. It judges no latency.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';

const { RATE, DURATION, SENDERS } = settings('smoke');
const run = new Run({
  name: 'smoke',
  ...setting('smoke'),
  profile: profileOf('smoke', {
    phases: [{ name: 'steady', duration: DURATION, arrivalRate: RATE }],
    flows: flows.mixed,
  }),
  maxSenders: SENDERS,
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({ http_req_failed: ['rate==0'] }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
