// The native instrument, with the options of Run that the bench gives it.
import { Run } from 'k6/x/arrival';

const run = new Run(JSON.parse(__ENV.RUN));
const pump = __ENV.PUMP === 'true';

export const options = { scenarios: run.scenarios({ pump }) };

export function subscriber() {
  run.collect();
}

export function sender() {
  if (pump) run.pump();
  else run.send();
}

export const handleSummary = run.summary;
