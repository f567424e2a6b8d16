// How do latency and throughput change with concurrency, and where does arrival take off while HTTP still looks fine?
//   npm run sweep                                        1 to 20, 10 s each
//   npm run sweep -- -e CONCURRENCY=1,2,5,10,50 -e STEP_DURATION=5
//   npm run sweep -- -e PROFILE=profiles/sweep.yml       steps from a file, as sweep.artillery.yml has them
//   npm run sweep -- -e P99=100                          the report names the highest rate with arrival p99 below 100 ms (250)
//   npm run sweep -- -e SAMPLED=true                     beside it one message in a hundred by trace lists in Redis, and how far that is off
// Each step begins when everything of the last one has arrived, or after DRAIN seconds (60). Every message counts.
import { Run } from 'k6/x/arrival';
import { number, numbers } from './lib/env.js';
import { flows, profileOf } from './lib/load.js';
import { sampled } from './lib/sampled.js';
import { openProfile, setting } from './lib/setting.js';

const steps = numbers('CONCURRENCY', '1..20');
const duration = number('STEP_DURATION', 10, { min: 0.1, max: 86_400 });
const drain = number('DRAIN', 60, { max: 86_400 });
const limit = number('P99', 250, { min: 0.1 }); // for the highest rate that the report names; a sweep is to go past it

const run = new Run({
  name: 'sweep',
  ...setting(),
  profile: __ENV.PROFILE
    ? openProfile(__ENV.PROFILE)
    : profileOf(`concurrency ${steps[0]} to ${steps.at(-1)}`, {
        phases: steps.map((vus) => ({ name: `${vus}`, duration, vus, drain })),
        flows: flows.direct,
      }),
  inFlight: Math.min(steps.at(-1), 50),
  drain,
  sampled: sampled(),
});

// A step past the knee leaves a backlog, and is what the sweep is for: only what never arrives fails it.
export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
  run.figure('limit of arrival p99', limit, 'ms');
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
