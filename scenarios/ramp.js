// How long does a message take to arrive while the load ramps up and then holds?
//   npm run ramp                                   starts the pipeline, runs this, stops the pipeline
//   ./k6 run scenarios/ramp.js                     with `npm run pipeline` up in another terminal
//   npm run ramp -- -e RATE=3000 -e WARMUP_RATE=200 -e WARMUP_DURATION=5 -e RAMP_DURATION=10 -e SUSTAINED_DURATION=60
//   npm run ramp -- -e PROFILE=profiles/smoke.yml  rates (requests/s) and durations (s) of a file; the ones above replace them
// It fails where p99 of the arrival is not below P99 (250 ms). SENDERS (64) VUs send.
import { Run } from 'k6/x/arrival';
import { count, number } from './lib/env.js';
import { openProfile, setting } from './lib/setting.js';

const run = new Run({
  name: 'ramp',
  ...setting(),
  profile: openProfile(__ENV.PROFILE || 'profiles/ramp.yml'),
  phases: {
    'warm-up': { duration: __ENV.WARMUP_DURATION, arrivalRate: __ENV.WARMUP_RATE },
    ramp: { duration: __ENV.RAMP_DURATION, arrivalRate: __ENV.WARMUP_RATE, rampTo: __ENV.RATE },
    sustained: { duration: __ENV.SUSTAINED_DURATION, arrivalRate: __ENV.RATE },
  },
  senders: count('SENDERS', 64, { max: 10_000 }),
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({
    arrival_p99: [`value<${number('P99', 250)}`],
    http_req_failed: ['rate<0.01'],
  }),
};

export function subscriber() {
  run.collect();
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
