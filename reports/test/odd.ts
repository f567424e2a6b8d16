/** Runs that the goldens lack: valid ones that no instrument writes, and some with further parts. */
import type { Run } from '../contract/run.ts';
import { golden } from './goldens.ts';

/** All of Unicode's bidi controls. */
const CONTROLS = '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069';
const LATENCY = /^(min|mean|p\d+|max|schedule|request|ingest|queue|relay|delivery)$|_(ms|mb|percent)$/;

/** The hostile run with every bidi control in each of its texts. */
export function turned(): Run {
  return JSON.parse(JSON.stringify(golden('hostile')).replaceAll('<img', `${CONTROLS}<img`));
}

/** Latencies, CPU and memory of 1e300, and the largest safe integer as counts. */
export function huge(): Run {
  const run: Run = JSON.parse(JSON.stringify(golden('passing')), (key, value) =>
    typeof value === 'number' && LATENCY.test(key) ? 1e300 : value,
  );
  const most = Number.MAX_SAFE_INTEGER;
  Object.assign(run.account, { scheduled: most, arrived: most, duplicates: most, foreign: most });
  for (const { series } of run.resources) for (const row of series) row.fill(1e300, 1);
  run.latency.arrival.curve = run.latency.arrival.curve.map(([p]) => [p, 1e300]);
  for (const tile of run.facts.tiles)
    if (tile.unit === 'ms') Object.assign(tile, { value: 1e300, text: '1.00e+300' });
  run.figures = [{ name: 'of a script', value: 1e300, unit: 'ms' }];
  run.environment.pipeline = { redis: '7.0.15', backlog_limit: 1e300 };
  return run;
}

/** A run with reasons and errors of 10,000 characters. */
export function wordy(): Run {
  const run = golden('failing');
  run.verdict.reasons = ['x'.repeat(10_000), `the ingest said: ${'nobody '.repeat(1_500)}`];
  run.facts.reasons = run.verdict.reasons;
  run.errors = [{ stage: 'request', class: 'status 500', count: 1, example: 'no '.repeat(3_000) }];
  run.health.gaps = [{ subscriber: 0, from_s: 2, to_s: null, reason: 'away '.repeat(2_000) }];
  return run;
}

/** A sweep with a sample of its messages joined by their trace lists. */
export function sampledRun(): Run {
  const run = golden('closed');
  const sampled = {
    ...{ one_in: 100, count: 90, not_found: 2, mean: 11, p50: 9, p99: 30, max: 40 },
    parts: { ingest: 1, relay: 8, arrival: 2 },
    difference: { mean: 1, p50: -1, p99: -30 },
  };
  for (const step of run.steps) step.sampled = sampled;
  run.sampled = sampled;
  run.latency.arrival.p99 = 60;
  return run;
}

/** A run with its slowest messages, and some that are named. */
export function messagesRun(): Run {
  const run = golden('passing');
  const at = { target: 'user/1', flow: 'direct', due: '2026-11-21T09:48:10.000001Z' };
  run.messages = {
    slowest: [
      {
        ...at,
        id: 'r.1.7',
        trace: '4bf92f3577b34da6a3ce929d0e0e4736',
        phase: 'ramp',
        subscriber: 1,
        arrival_ms: 300.5,
        stages_ms: { queue: 300, relay: 0.5 },
        longest: { stage: 'queue', ms: 300, share: 0.998 },
      },
      { ...at, id: 'r.1.8', phase: 'ramp', subscriber: 2, arrival_ms: 3, stages_ms: {}, longest: null },
    ],
    named: [
      { ...at, id: 'r.1.9', end: 'lost', phase: null, delivered: 0 },
      { ...at, id: 'r.1.10', end: 'rejected', phase: null, due: null, delivered: null },
    ],
  };
  run.tail = { count: 10, of: 1000, mean_ms: 100, stages_ms: { queue: 98, relay: 2 } };
  Object.assign(run.facts.journey.stages[3] ?? {}, { slow_mean_ms: 98, slow_share: 0.98 });
  return run;
}
