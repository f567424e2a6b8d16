// How long does the pipeline take to recover from a burst: until its backlog has drained, and until p99 is back?
//   npm run spike                                          20 s at 200/s, 5 s at 4,000/s, 40 s at 200/s
//   npm run spike -- -e RATE=500 -e SPIKE_RATE=5000 -e SPIKE_DURATION=10 -e BEFORE=30 -e AFTER=60
//   npm run spike -- -e DRAIN_LIMIT=10 -e BACK_LIMIT=15    the limits
// p99 is back when each second's p99 stays near that of before the burst.
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { spikeAnswer } from './lib/answers.js';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { drained, restored } from './lib/recovery.js';
import { setting } from './lib/setting.js';
import { duration, rate } from './lib/words.js';

const { RATE, SPIKE_RATE, BEFORE, SPIKE_DURATION, AFTER, BACK, DRAIN_LIMIT, BACK_LIMIT } = settings('spike');

const run = new Run({
  name: 'spike',
  ...setting(),
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
});

const timeToDrain = new Gauge('spike_drain_s');
const timeToBack = new Gauge('spike_p99_back_s');

// A figure not reached within AFTER counts as 1e9 s, so its threshold fails.
export const options = {
  scenarios: run.scenarios({ pump: true }),
  thresholds: run.thresholds({
    spike_drain_s: [`value<${DRAIN_LIMIT}`],
    spike_p99_back_s: [`value<${BACK_LIMIT}`],
  }),
};

export function subscriber() {
  run.collect();
  const result = run.result();
  const [drain, back] = [drained(result, 'before', 'spike'), restored(result, 'before', 'spike', BACK)];
  const almost = result.steps.find(({ name }) => name === 'spike')?.arrived_99_s;
  /** @type {[name: string, seconds: number | undefined, gauge: Gauge][]} */
  const figures = [
    ['time to drain', drain, timeToDrain],
    ['time until p99 is back', back, timeToBack],
  ];
  const load = {
    rate: SPIKE_RATE,
    seconds: SPIKE_DURATION,
    after: AFTER,
    drainLimit: DRAIN_LIMIT,
    backLimit: BACK_LIMIT,
  };
  run.answer(spikeAnswer(load, { drain, back, almost }));
  for (const [name, seconds, gauge] of figures) {
    run.figure(name, seconds ?? Number.NaN, 's');
    gauge.add(seconds ?? 1e9);
  }
  run.figure('time until 99 % of the burst had arrived', almost ?? Number.NaN, 's');
}

export function sender() {
  run.pump();
}

export const handleSummary = run.summary;
