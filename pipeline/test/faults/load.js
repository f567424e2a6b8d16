// The load of a case of the fault campaign (`npm run faults`), which says in FAULT_LOAD what it is.
import { Run } from 'k6/x/arrival';

const { rate, seconds, batch, fill, ...setting } = JSON.parse(__ENV.FAULT_LOAD);

const run = new Run({
  greet: false, // a case may harm the pipeline before its load
  ...setting,
  profile: {
    name: 'fault',
    text: JSON.stringify({
      phases: [{ name: 'load', duration: seconds, arrivalRate: rate }],
      flows: [{ name: 'direct', target: 'user', targets: 100, messages: batch, payloadBytes: fill }],
    }),
  },
  dir: __ENV.RUN_DIR,
  runId: __ENV.RUN_ID || '',
});

export const options = { scenarios: run.scenarios(), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
