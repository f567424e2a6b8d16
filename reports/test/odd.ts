/** Valid runs that no instrument writes; pages must still show them. */
import type { Run } from '../contract/run.ts';
import { golden } from './goldens.ts';

/** All of Unicode's bidi controls. */
export const CONTROLS = '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069';
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
