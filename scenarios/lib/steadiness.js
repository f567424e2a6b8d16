// Whether memory and latency of a run stayed stable, from run.json.

import { count, ms } from './words.js';

/** @import { Figures, Latency, Step } from '../../reports/contract/run.ts' */

/**
 * A value and its second, null where it is not known.
 * @typedef {[t: number | null, value: number | null]} Known
 */
/**
 * The part of a process that memoryGrowth reads.
 * @typedef {{ process: string, series: (number | null)[][], figures?: Pick<Figures, 't' | 'gauges'> | null }} Process
 */

const mean = (/** @type {number[]} */ values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/**
 * Values by second `t` of the second quarter and of the last one.
 * @param {[t: number, value: number][]} rows
 * @param {number} seconds
 */
function quarters(rows, seconds) {
  const within = (/** @type {number} */ from, /** @type {number} */ to) =>
    rows.filter(([t]) => t >= from * seconds && t < to * seconds).map(([, value]) => value);
  return [within(0.25, 0.5), within(0.75, 1)];
}

/** The value of an unknown figure, which fails any threshold. */
export const UNKNOWN = 1e9;

/**
 * Growth of each process's memory from the second quarter to the last, in MB, the most first; NaN, at the end, when it reported none
 * in one of them. Memory is the heap after garbage collections plus the least in buffers, or else the least resident memory: a
 * process does not need what it gives back.
 * @param {Process[]} resources
 * @param {number} seconds
 */
export function memoryGrowth(resources, seconds) {
  return resources
    .map(({ process, series, figures }) => {
      const gauge = (/** @type {string} */ name) =>
        figures?.t.map((t, i) => /** @type {Known} */ ([t, figures.gauges[name]?.[i] ?? null])) ?? [];
      const heap = between(gauge('live_heap_mb'), seconds, mean);
      const mb = Number.isNaN(heap)
        ? between(
            series.map(([t, , rss]) => /** @type {Known} */ ([t, rss])),
            seconds,
            least,
          )
        : heap + (between(gauge('external_mb'), seconds, least) || 0);
      return { process, mb };
    })
    .sort((a, b) =>
      Number.isNaN(a.mb) || Number.isNaN(b.mb)
        ? Number(Number.isNaN(a.mb)) - Number(Number.isNaN(b.mb))
        : b.mb - a.mb,
    );
}

const least = (/** @type {number[]} */ values) => Math.min(...values);

/**
 * The difference of a measure between the last quarter and the second; NaN when one has no values.
 * @param {Known[]} rows
 * @param {number} seconds
 * @param {(values: number[]) => number} measure
 */
function between(rows, seconds, measure) {
  const [early, late] = quarters(
    rows.flatMap(([t, value]) => (t === null || value === null ? [] : [[t, value]])),
    seconds,
  );
  return early.length > 0 && late.length > 0 ? measure(late) - measure(early) : Number.NaN;
}

/**
 * Whether it is a process of the pipeline, and neither `host` (all programs on it) nor k6.
 * @param {{ process: string }} resource
 */
export function ofPipeline({ process }) {
  return process !== 'host' && process !== 'k6';
}

/**
 * The most that a process of the pipeline has grown, in MB, for the threshold; UNKNOWN if one or all reported nothing. k6 is not
 * judged: its own trends grow until they have all the samples that they keep.
 * @param {{ process: string, mb: number }[]} grown
 */
export function mostGrowth(grown) {
  const judged = grown.filter(ofPipeline);
  const known = judged.length > 0 && judged.every(({ mb }) => !Number.isNaN(mb));
  return known ? Math.max(0, ...judged.map(({ mb }) => mb)) : UNKNOWN;
}

/**
 * Growth of the median of the seconds' p99, in ms; NaN when a quarter has no arrivals.
 * @param {{ t: number, arrival: { p99: number | null } | null }[]} timeline
 * @param {number} seconds
 */
export function latencyDrift(timeline, seconds) {
  const known = timeline.map(({ t, arrival }) => /** @type {Known} */ ([t, arrival?.p99 ?? null]));
  return between(known, seconds, median);
}

/** @param {number[]} values */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/**
 * A step in one line.
 * @param {Pick<Step, 'name' | 'arrived' | 'scheduled' | 'backlog'> & { latency: { arrival: Pick<Latency, 'p50' | 'p99' | 'max'> } }} step
 */
export function sentence({ name, arrived, scheduled, backlog, latency: { arrival } }) {
  const known = (/** @type {number | null} */ x) => (x === null ? 'n/a' : ms(x));
  return (
    `${name}: ${count(scheduled)} scheduled, ${count(arrived)} deliveries, p50 ${known(arrival.p50)} ms, p99 ${known(arrival.p99)} ms, ` +
    `max ${known(arrival.max)} ms, backlog ${backlog == null ? 'n/a' : count(backlog)}`
  );
}
