/** Distributions together: histograms are added count by count, so nothing is lost, and means, min and max stay exact. */
import { build, decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { FORM, latencyOf } from '../latency.ts';
import { type Brief, type Latencies, type Latency, STAGES } from '../run.ts';

/** @throws if one that has samples has no histogram */
export function mergeLatency(parts: readonly Latency[]): Latency {
  const filled = parts.filter(({ count }) => count > 0);
  const histogram = build(FORM);
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const part of filled) {
    if (part.histogram === null)
      throw new Error('a latency has no histogram, so it cannot be added to others');
    histogram.add(decodeFromCompressedBase64(part.histogram));
    count += part.count;
    sum += (part.mean ?? 0) * part.count * 1000;
    min = Math.min(min, (part.min ?? 0) * 1000);
    max = Math.max(max, (part.max ?? 0) * 1000);
  }
  return latencyOf({ histogram, count, sum, min, max });
}

export function mergeLatencies(parts: readonly Latencies[]): Latencies {
  const all = (of: (part: Latencies) => Latency) => mergeLatency(parts.map(of));
  return {
    arrival: all(({ arrival }) => arrival),
    from_send: all(({ from_send }) => from_send),
    http: all(({ http }) => http),
    stages: Object.fromEntries(
      STAGES.map((stage) => [stage, all(({ stages }) => stages[stage])]),
    ) as Latencies['stages'],
  };
}

/** What is known of several without their histograms: no percentile, but how many, their mean and the longest. */
export function addBriefs(parts: readonly Brief[]): Brief | null {
  const count = parts.reduce((total, brief) => total + brief.count, 0);
  if (count === 0) return null;
  const sum = parts.reduce((total, brief) => total + (brief.mean ?? 0) * brief.count, 0);
  return {
    count,
    mean: sum / count,
    p50: null,
    p95: null,
    p99: null,
    max: Math.max(...parts.map(({ max }) => max ?? 0)),
  };
}
