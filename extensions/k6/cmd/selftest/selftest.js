// One run of the self-test: everything that it is told stands in SELFTEST_RUN, the options of Run as JSON. `template` is the
// path of the page's template.
import { Run } from 'k6/x/arrival';

const told = JSON.parse(__ENV.SELFTEST_RUN);
const run = new Run({ ...told, template: open(told.template) });

export const options = { scenarios: run.scenarios(), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
