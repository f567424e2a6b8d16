// One run of the self-test: SELFTEST_RUN has the options of Run as JSON.
import { Run } from 'k6/x/arrival';

const run = new Run(JSON.parse(__ENV.SELFTEST_RUN));

export const options = { scenarios: run.scenarios(), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
