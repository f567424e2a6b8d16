// How do latency and throughput change with concurrency, and where does arrival take off while HTTP still looks fine?
//   npm run sweep                                        1 to 20, 10 s each
//   npm run sweep -- -e CONCURRENCY=1,2,5,10,50 -e STEP_DURATION=5
//   npm run sweep -- -e PROFILE=profiles/sweep.yml       steps from a file, as sweep.artillery.yml has them
//   npm run sweep -- --repeat 3                          three sweeps, and the spread of knee and rates over them
//   npm run sweep -- -e P99=100                          report and terminal name the highest rate with arrival p99 below 100 ms
//   npm run sweep -- -e SAMPLED=true                     also measures one message in a hundred by trace lists in Redis
// A step begins when all messages of the last one have arrived.
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { openProfile, setting } from './lib/setting.js';

const set = settings('sweep');
const { CONCURRENCY: steps, STEP_DURATION: duration, DRAIN: drain, P99: limit } = set; // a sweep goes past its P99

const run = new Run({
  name: 'sweep',
  ...setting('sweep'),
  profile: set.PROFILE
    ? openProfile(set.PROFILE, ['CONCURRENCY', 'STEP_DURATION'])
    : profileOf(`concurrency ${steps[0]} to ${steps.at(-1)}`, {
        phases: steps.map((vus) => ({ name: `${vus}`, duration, vus, drain })),
        flows: flows.direct,
      }),
  inFlight: Math.min(Number(steps.at(-1)), 50),
  drain,
});

// Steps past the knee leave a backlog: only messages that never arrive fail the run.
export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber() {
  run.collect();
  run.figure('limit of arrival p99', limit, 'ms');
  run.figure('highest rate of a step below it', run.result().answer?.held_per_s ?? 0, 'messages/s');
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
