// Does the pipeline stay stable for hours: does memory grow, does latency drift, does every message arrive?
//   npm run soak                                   2 h at 200/s, a line an hour
//   npm run soak -- -e HOURS=0.1 -e LINE_MINUTES=1 -e RATE=500 -e GROWTH_LIMIT=64 -e DRIFT_LIMIT=20
// It compares memory and latency of the last quarter with those of the second; the first is warm-up.
// A figure that a process did not report fails the run; memory of a pipeline of your own, only with GROWTH_LIMIT.
import { sleep } from 'k6';
import { Gauge } from 'k6/metrics';
import { Run } from 'k6/x/arrival';
import { settings } from './lib/declarations.js';
import { flows, profileOf } from './lib/load.js';
import { setting } from './lib/setting.js';
import { clock, line as lineOf, UNKNOWN } from './lib/words.js';

const { HOURS, RATE, SENDERS, LINE_MINUTES, GROWTH_LIMIT, DRIFT_LIMIT } = settings('soak');
const seconds = HOURS * 3600;
const line = Math.min(seconds, LINE_MINUTES * 60);
const lines = Math.ceil(seconds / line);
if (lines > 1000) throw new Error(`LINE_MINUTES makes ${lines} lines; allowed: up to 1000`);

const run = new Run({
  name: 'soak',
  ...setting('soak'),
  profile: profileOf(`${HOURS} h`, {
    phases: Array.from({ length: lines }, (_, i) => ({
      name: `${clock(i * line)}–${clock(Math.min((i + 1) * line, seconds))}`,
      duration: Math.min(line, seconds - i * line),
      arrivalRate: RATE,
    })),
    flows: flows.mixed,
  }),
  maxSenders: SENDERS,
  question: { kind: 'steadiness' },
});

// A pipeline of your own reports its memory only by the Redis of ours.
const judgesMemory = Boolean(!__ENV.INGEST_URL || __ENV.REDIS_URL || __ENV.GROWTH_LIMIT);
const growth = new Gauge('soak_memory_growth_mb');
const drift = new Gauge('soak_latency_drift_ms');

export const options = {
  scenarios: {
    ...run.scenarios(),
    lines: {
      executor: 'per-vu-iterations',
      exec: 'tell',
      vus: 1,
      maxDuration: `${Math.ceil(seconds) + 60}s`,
      gracefulStop: '0s',
    },
  },
  thresholds: run.thresholds({
    ...(judgesMemory && { soak_memory_growth_mb: [`value<${GROWTH_LIMIT}`] }),
    soak_latency_drift_ms: [`value<${DRIFT_LIMIT}`],
  }),
};

/** Prints a line for each interval that has ended, with its backlog. */
export function tell() {
  const begun = Date.now(); // the schedule begins when all is connected
  for (let i = 0; i < lines; i++) {
    /** @type {ReturnType<typeof run.result>} */
    let result;
    do {
      sleep(Math.max(0.25, Math.min((i + 1) * line, seconds) - (Date.now() - begun) / 1000));
      result = run.result();
    } while (result.steps[i].backlog === null && result.run.ended === null);
    console.log(lineOf(result.steps[i]));
  }
}

export function subscriber() {
  run.collect();
  const { memory, drift: p99 } = run.result().facts;
  for (const { process, grew_mb } of memory?.processes ?? [])
    run.figure(`memory of ${process}, change`, grew_mb ?? Number.NaN, 'MB');
  if (!memory?.processes.some(({ pipeline }) => pipeline))
    run.figure('memory of the pipeline, change', Number.NaN, 'MB');
  growth.add(memory?.most_grew_mb ?? UNKNOWN);
  run.figure('p99, change', p99?.grew_ms ?? Number.NaN, 'ms');
  drift.add(p99?.grew_ms ?? UNKNOWN);
}

export function sender() {
  run.send();
}

export const handleSummary = run.summary;
