// One cell of the matrix: does this topology carry a rate over this network, and how long do messages take?
//   npm run matrix                                       every topology over every network: scenarios/campaigns/matrix/ makes them
//   npm run scenario -- scenarios/matrix.ts              one cell, over the network that there is
import { Run, type RunOptions } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { rate as perSecond } from './lib/words.js';

const { RATE: rate, DURATION: duration, WARMUP, CONNECTIONS: connections, ALONE: alone } = settings('matrix');

type Load = Pick<RunOptions, 'profile' | 'senders' | 'inFlight' | 'maxSenders' | 'canary' | 'drain' | 'idle'>;

const throughPipeline: Load = {
  profile: profileOf(perSecond(rate, 'requests'), {
    phases: [
      { name: 'warm-up', duration: WARMUP, arrivalRate: rate, measured: false },
      { name: 'hold', duration, arrivalRate: rate },
    ],
    flows: flows.direct,
  }),
  senders: 4,
  inFlight: 16,
  maxSenders: connections,
};

// There is nothing to wait for.
const generatorAlone: Load = {
  profile: profileOf('the generator alone', {
    phases: [{ name: 'alone', duration, vus: connections ?? 64 }],
    flows: flows.direct,
  }),
  inFlight: Math.min(connections ?? 64, 64),
  canary: false,
  drain: 0.1,
  idle: 0.1,
};

const run = new Run({ name: 'matrix', ...setting('matrix'), ...(alone ? generatorAlone : throughPipeline) });

export const options = { scenarios: run.scenarios({ pump: true }), thresholds: run.thresholds() };

export function subscriber(): void {
  run.collect();
}

export function sender(): void {
  run.pump();
}

export const handleSummary = run.summary;
