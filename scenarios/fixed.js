// How does the pipeline behave at a fixed concurrency, with keep-alive and without? (ab -n -c, http_load -parallel -seconds)
//   npm run fixed                                                      50 connections, 30 s
//   npm run fixed -- -e CONCURRENCY=1000 -e REQUESTS=50000 -e KEEPALIVE=false
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';

const { CONCURRENCY: vus, REQUESTS: requests, DURATION: duration, KEEPALIVE: keepAlive } = settings('fixed');

const shared = setting('fixed');
const run = new Run({
  name: 'fixed',
  ...shared,
  profile: profileOf(`${vus} connections, ${keepAlive ? 'kept alive' : 'one for each request'}`, {
    phases: [{ name: 'fixed', duration, vus, ...(requests && { requests }) }],
    flows: flows.direct,
  }),
  inFlight: Math.min(vus, 50),
  labels: { ...shared.labels, keepalive: String(keepAlive) },
});

export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
  const { steps, latency, facts } = run.result();
  const [fixed] = steps;
  const connect = run.connections();
  run.figure('requests', facts.phases[0].requests_per_s, 'requests/s');
  run.figure('time taken', fixed.duration_s, 's');
  for (const [name, { min, mean, max }] of Object.entries({ connect, HTTP: latency.http }))
    for (const [word, value] of Object.entries({ min, mean, max }))
      run.figure(`${name}, ${word}`, value ?? Number.NaN, 'ms');
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
