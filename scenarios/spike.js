// How long does the pipeline take to recover from a burst: until its backlog has drained, and until p99 is back?
//   npm run spike                                          20 s at 200/s, 5 s at 4,000/s, 40 s at 200/s
//   npm run spike -- -e RATE=500 -e SPIKE_RATE=20000 -e SPIKE_DURATION=10 -e BEFORE=30 -e AFTER=60
//   npm run spike -- -e DRAIN_LIMIT=10 -e BACK_LIMIT=15    what fails it: s until either; AFTER unless told
// Back is a p99 of a second that is no more than twice (BACK) the one before the burst, and stays there.
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { number } from './lib/env.js';
import { flows, profileOf } from './lib/load.js';
import { drained, restored } from './lib/recovery.js';
import { setting } from './lib/setting.js';

const rate = number('RATE', 200, { min: 1 });
const before = number('BEFORE', 20, { min: 1 });
const spike = {
  rate: number('SPIKE_RATE', 4000, { min: 1 }),
  duration: number('SPIKE_DURATION', 5, { min: 0.1 }),
};
const after = number('AFTER', 40, { min: 1 });
const back = number('BACK', 2, { min: 1 });

const run = new Run({
  name: 'spike',
  ...setting(),
  profile: profileOf(`${rate}/s, ${spike.rate}/s for ${spike.duration} s`, {
    phases: [
      { name: 'before', duration: before, arrivalRate: rate },
      { name: 'spike', duration: spike.duration, arrivalRate: spike.rate },
      { name: 'after', duration: after, arrivalRate: rate },
    ],
    flows: flows.direct,
  }),
  senders: 4,
  inFlight: 64,
});

const timeToDrain = new Gauge('spike_drain_s');
const timeToBack = new Gauge('spike_p99_back_s');

// A figure that did not come about within AFTER is told as 1e9 s: the threshold is crossed.
export const options = {
  scenarios: run.scenarios({ pump: true }),
  thresholds: run.thresholds({
    spike_drain_s: [`value<${number('DRAIN_LIMIT', after)}`],
    spike_p99_back_s: [`value<${number('BACK_LIMIT', after)}`],
  }),
};

export function subscriber() {
  run.collect();
  const result = run.result();
  const figures = [
    ['time to drain', drained(result, 'before', 'spike'), timeToDrain],
    ['time until p99 is back', restored(result, 'before', 'spike', back), timeToBack],
  ];
  for (const [name, seconds, gauge] of figures) {
    run.figure(name, seconds ?? Number.NaN, 's');
    gauge.add(seconds ?? 1e9);
  }
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
