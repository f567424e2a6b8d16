// How long does the pipeline take to recover from a burst: until its backlog has drained, and until p99 is back?
//   npm run spike                                          20 s at 200/s, 5 s at 4,000/s, 40 s at 200/s
//   npm run spike -- -e RATE=500 -e SPIKE_RATE=5000 -e SPIKE_DURATION=10 -e BEFORE=30 -e AFTER=60
//   npm run spike -- -e DRAIN_LIMIT=10 -e BACK_LIMIT=15    the limits
// p99 is back when each second's p99 stays near that of before the burst.
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { duration, rate, UNKNOWN } from './lib/words.js';

const { RATE, SPIKE_RATE, BEFORE, SPIKE_DURATION, AFTER, SENDERS, BACK, DRAIN_LIMIT, BACK_LIMIT } =
  settings('spike');

const run = new Run({
  name: 'spike',
  ...setting('spike'),
  profile: profileOf(
    `${rate(RATE, 'requests')}, ${rate(SPIKE_RATE, 'requests')} for ${duration(SPIKE_DURATION)}`,
    {
      phases: [
        { name: 'before', duration: BEFORE, arrivalRate: RATE },
        { name: 'spike', duration: SPIKE_DURATION, arrivalRate: SPIKE_RATE },
        { name: 'after', duration: AFTER, arrivalRate: RATE },
      ],
      flows: flows.direct,
    },
  ),
  senders: 4,
  inFlight: 64,
  maxSenders: SENDERS,
  question: { kind: 'recovery', factor: BACK },
});

const timeToDrain = new Gauge('spike_drain_s');
const timeToBack = new Gauge('spike_p99_back_s');

// A figure not reached within AFTER is UNKNOWN, so its threshold fails.
export const options = {
  scenarios: run.scenarios({ pump: true }),
  thresholds: run.thresholds({
    spike_drain_s: [`value<${DRAIN_LIMIT}`],
    spike_p99_back_s: [`value<${BACK_LIMIT}`],
  }),
};

export function subscriber() {
  run.collect();
  const { recovery } = run.result().facts;
  const [drain, back] = [recovery?.drained_s ?? null, recovery?.back_s ?? null];
  run.figure('time to drain', drain ?? Number.NaN, 's');
  timeToDrain.add(drain ?? UNKNOWN);
  run.figure('time until p99 is back', back ?? Number.NaN, 's');
  timeToBack.add(back ?? UNKNOWN);
  run.figure('time until 99 % of the burst had arrived', recovery?.arrived_99_s ?? Number.NaN, 's');
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
