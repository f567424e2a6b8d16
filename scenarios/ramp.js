// How long does a message take to arrive while the load ramps up and then holds?
//   npm run ramp                                   starts the pipeline, runs this, stops the pipeline
//   ./k6 run scenarios/ramp.js                     with `npm run pipeline` up in another terminal
//   npm run ramp -- -e PROFILE=profiles/smoke.yml -e RATE=3000
import { Run } from 'k6/x/arrival';
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
  senders: Number(__ENV.SENDERS || 64),
});

export const options = {
  scenarios: run.scenarios(),
  thresholds: run.thresholds({
    arrival_latency: [`p(99)<${__ENV.P99 || 250}`],
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
