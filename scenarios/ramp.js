// How long does a message take to arrive while the load ramps up and then holds?
//   npm run ramp                                   starts the pipeline, runs this, stops the pipeline
//   ./k6 run scenarios/ramp.js                     with `npm run pipeline` up in another terminal
//   npm run ramp -- -e RATE=3000 -e WARMUP_RATE=200 -e WARMUP_DURATION=5 -e RAMP_DURATION=10 -e SUSTAINED_DURATION=60
//   npm run ramp -- -e PROFILE=profiles/smoke.yml  rates and durations of a file; the settings above replace them
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { openProfile, setting } from './lib/setting.js';

const { PROFILE, WARMUP_RATE, RATE, WARMUP_DURATION, RAMP_DURATION, SUSTAINED_DURATION, SENDERS, P99 } =
  settings('ramp');
const run = new Run({
  name: 'ramp',
  ...setting('ramp'),
  profile: openProfile(PROFILE),
  phases: {
    'warm-up': { duration: WARMUP_DURATION, arrivalRate: WARMUP_RATE },
    ramp: { duration: RAMP_DURATION, arrivalRate: WARMUP_RATE, rampTo: RATE },
    sustained: { duration: SUSTAINED_DURATION, arrivalRate: RATE },
  },
  maxSenders: SENDERS,
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({
    arrival_p99: [`value<${P99}`],
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
