// What do random JSON bodies cost the pipeline as concurrency grows? (gotybench: a table of average, max and min)
//   npm run scenario -- scenarios/fuzz.js                           10, 100, 500 and 1,000 concurrent, 10 s each
//   npm run deployments                                             bare, behind nginx, and in a network namespace, side by side
//   INGEST_URL=http://host:port … -e TIMEOUT=5                      any server that takes a POST: without MQTT_URL, HTTP alone
//   … -e SPEC='[userId,string,userAge,int]' -e SEED=7 -e CONCURRENCY=10,50 -e REQUESTS=5000
//   … -e SPEC_FILE=/path/spec.json             ranges, lengths, allowed values, nested objects: scenarios/README.md
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';

const set = settings('fuzz');
const { CONCURRENCY: steps, REQUESTS: requests, STEP_DURATION: duration } = set;

const run = new Run({
  name: 'fuzz',
  ...setting('fuzz'),
  profile: profileOf('random bodies', {
    phases: steps.map((vus) => ({ name: `${vus}`, duration, vus, drain: 60, ...(requests && { requests }) })),
    flows: flows.direct,
  }),
  inFlight: Math.min(Number(steps.at(-1)), 50),
});

export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
  for (const { name, latency } of run.result().steps) {
    const { mean, max, min } = latency.http;
    run.figure(`${name} concurrent, average`, mean ?? Number.NaN, 'ms');
    run.figure(`${name} concurrent, max`, max ?? Number.NaN, 'ms');
    run.figure(`${name} concurrent, min`, min ?? Number.NaN, 'ms');
  }
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
