// Does the pipeline hold a rate, with arrival p99 below a limit and a flat backlog?
//   npm run capacity                                     searches the highest rate that it holds, in many runs of this script
//   npm run capacity -- -e P99=50 -e PROBE=20            capacity/main.ts has all settings: npm run capacity -- --help
//   npm run scenario -- scenarios/capacity.js -e RATE=3000 -e P99=100        one rate
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { rate as perSecond } from './lib/words.js';

const { RATE: rate, WARMUP, DURATION: duration, P99: limit, DRAIN: drain, SENDERS } = settings('capacity');

const run = new Run({
  name: 'capacity',
  ...setting('capacity'),
  profile: profileOf(perSecond(rate, 'requests'), {
    phases: [
      // A sudden start at the whole rate makes a backlog that a pipeline near its limit drains only slowly.
      { name: 'warm-up', duration: WARMUP, arrivalRate: rate / 10, rampTo: rate, measured: false },
      { name: 'hold', duration, arrivalRate: rate },
    ],
    flows: flows.direct,
  }),
  senders: 4,
  inFlight: 64,
  maxSenders: SENDERS,
  drain,
  // In a short run the machine itself may stall, so the run waits longer.
  idle: duration < 5 ? drain : Math.min(drain, 2),
});

const growth = new Gauge('backlog_growth');

export const options = {
  scenarios: run.scenarios({ pump: true }),
  thresholds: run.thresholds({
    arrival_p99: [`value<${limit}`],
    // A share of the rate: 0.02 means 2 % more messages wait after each second.
    backlog_growth: ['value<0.02'],
  }),
};

export function subscriber() {
  run.collect();
  // null: a phase of less than two seconds shows no growth
  const share = run.result().facts.backlog?.counted_share ?? 0;
  run.figure('backlog grows by', share * 100, '% of the rate');
  growth.add(share);
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
