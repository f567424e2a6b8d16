/** Runs with known parameters: arrivals around a median that drifts from second to second. */

import hdr from 'hdr-histogram-js';
import type { Brief, Interval, Latency, Run, Step } from '../../contract/run.ts';
import { golden } from '../../test/goldens.ts';
import { mulberry32, normal } from '../../test/samples.ts';
import { pooled } from '../pools.ts';
import type { Recording } from '../recording.ts';
import type { Counted } from '../seconds.ts';
import { autoregressive, type Process } from './processes.ts';

export interface Truth {
  seed: number;
  /** ms; default 2. */
  median?: number;
  /** What every latency is multiplied by, waits too; default 1. */
  scale?: number;
  /** Measured seconds after a warm-up of 5 s; default 60. */
  seconds?: number;
  /** Autocorrelation of seconds; default 0. */
  memory?: number;
  /** Standard deviation of the log median between seconds; default 0.1. */
  wander?: number;
  /** What the seconds do, in place of memory and wander. */
  process?: Process;
  /** Standard deviation of the log median between runs; default 0. */
  repeat?: number;
  samples?: number;
}

const WARM_UP = 5;
const MODEL = { ...golden('passing'), timeline: golden('passing').timeline.slice(0, 1) };

export function simulated(truth: Truth): Recording {
  const { scale = 1 } = truth;
  const { seed, median = 2, seconds = 60, memory = 0, wander = 0.1, repeat = 0, samples = 150 } = truth;
  const random = mulberry32(seed * 7919 + 1);
  const centre = Math.log(median) + repeat * normal(random);
  const course = (truth.process ?? autoregressive(memory, wander))(random, WARM_UP + seconds);
  const kept = Array.from({ length: WARM_UP + seconds }, (_, t) => {
    const level = course.level(t);
    return counted(
      Array.from({ length: samples }, (_, i) => {
        const own = Math.exp(centre + level + 0.3 * normal(random));
        return scale * (own + (course.wait?.(t + i / samples) ?? 0));
      }),
    );
  });
  const others = kept.map((_, t) => course.others?.(t));
  const run = structuredClone(MODEL);
  const rate = { name: 'steady', arrival_rate: samples, ramp_to: null, vus: null };
  run.run.profile.phases = [
    { ...rate, name: 'warm-up', duration_s: WARM_UP, measured: false },
    { ...rate, duration_s: seconds, measured: true },
  ];
  const measured = latencyOf(pooled(kept.slice(WARM_UP)));
  run.latency.arrival = measured;
  run.latency.http = measured;
  const [first] = run.timeline as [Interval];
  run.timeline = kept.map((second, t): Interval => {
    const share = others[t];
    const usage = first.generator && { ...first.generator, host_percent: OWN + 100 * (share ?? 0) };
    return { ...first, ...briefOf(second), t, ...(share !== undefined && { generator: usage }) };
  });
  run.steps = [step(run, 'warm-up', 0, WARM_UP, false), step(run, 'steady', WARM_UP, seconds, true)];
  run.facts.disturbed = disturbed(others.slice(WARM_UP));
  const by = new Map(kept.map((second, t) => [t, second]));
  return {
    run,
    histograms: new Map([
      ['arrival', by],
      ['http', by],
    ]),
  };
}

/** % of the host's CPU. */
const OWN = 20;
const MUCH = 5;

/** As internal/facts says it. */
function disturbed(others: (number | undefined)[]): string | null {
  const percent = (100 * others.reduce<number>((sum, share) => sum + (share ?? 0), 0)) / others.length;
  return percent < MUCH ? null : `other processes took ${Math.round(percent)} % of the CPU`;
}

function counted(samples: number[]): Counted {
  const counts = new Map<number, number>();
  for (const ms of samples) {
    const value = Number((Math.round(ms * 1000) / 1000).toPrecision(3));
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const values = Float64Array.from(counts.keys()).sort();
  return { values, counts: values.map((value) => counts.get(value) as number) };
}

function latencyOf(all: Counted): Latency {
  const { count, mean } = sums(all);
  const at = (percentile: number) => valueAt(all, count, percentile);
  return {
    ...{ count, mean, min: at(0), p50: at(50), p75: at(75), p90: at(90), p95: at(95) },
    ...{ p99: at(99), p999: at(99.9), max: at(100) },
    curve: [50, 75, 87.5, 93.75, 99, 99.9].map((p) => [p, at(p)]),
    histogram: encoded(all),
  };
}

function encoded({ values, counts }: Counted): string {
  const histogram = hdr.build();
  values.forEach((ms, i) => {
    histogram.recordValueWithCount(Math.round(ms * 1000), counts[i] as number);
  });
  return hdr.encodeIntoCompressedBase64(histogram);
}

function briefOf(second: Counted): Pick<Interval, 'arrival' | 'http' | 'stages' | 'arrived' | 'accepted'> {
  const { count, mean } = sums(second);
  const at = (percentile: number) => valueAt(second, count, percentile);
  const brief: Brief = { count, mean, p50: at(50), p95: at(95), p99: at(99), max: at(100) };
  return { arrival: brief, http: brief, stages: null, arrived: count, accepted: count };
}

function valueAt({ values, counts }: Counted, count: number, percentile: number): number {
  let left = Math.max(1, Math.ceil((percentile / 100) * count - 1e-9));
  let at = 0;
  while (at < values.length - 1) {
    left -= counts[at] as number;
    if (left <= 0) break;
    at++;
  }
  return values[at] as number;
}

function sums({ values, counts }: Counted): { count: number; mean: number } {
  const count = counts.reduce((sum, one) => sum + one, 0);
  return { count, mean: values.reduce((sum, value, i) => sum + value * (counts[i] as number), 0) / count };
}

function step(run: Run, name: string, start_s: number, duration_s: number, measured: boolean): Step {
  const count = run.timeline
    .slice(start_s, start_s + duration_s)
    .reduce((sum, { arrived }) => sum + arrived, 0);
  const counts = {
    requests: count,
    scheduled: count,
    accepted: count,
    taken: count,
    due: count,
    arrived: count,
  };
  const per_s = count / duration_s;
  return {
    ...{ name, start_s, duration_s, measured, vus: null, ...counts, latency: run.latency },
    ...{ scheduled_per_s: per_s, accepted_per_s: per_s, arrived_per_s: per_s, carried_per_s: per_s },
    ...{ offered_per_s: null, backlog: null, arrived_99_s: null, drained_s: null },
    ...{ cpu_percent: null, sampled: null },
  };
}
