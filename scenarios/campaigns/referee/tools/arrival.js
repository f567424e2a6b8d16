// run.send() or, with PUMP, run.pump(): RATE requests/s for SECONDS to URL. A request has arrived with its answer.
import { Run } from 'k6/x/arrival';

const { URL: url = '', RATE = '', SECONDS = '', TIMEOUT = '', DIR = '' } = __ENV;
const pump = __ENV.PUMP === 'true';
const phases = [{ name: 'load', duration: Number(SECONDS), arrivalRate: Number(RATE) }];
const flows = [{ name: 'request', target: 'server', deliveries: 1 }];

const run = new Run({
  name: 'referee',
  profile: JSON.stringify({ phases, flows }),
  ingest: { url, path: '/' },
  answers: true,
  canary: false,
  timeout: `${TIMEOUT}s`,
  idle: '1s',
  inFlight: pump ? 8 : undefined,
  dir: DIR,
});

export const options = { scenarios: run.scenarios({ pump }) };

export function subscriber() {
  run.collect();
}

export function sender() {
  if (pump) run.pump();
  else run.send();
}

export const handleSummary = run.summary;
