// Whether a run stayed as it was, from what run.json says of its seconds.

/** @import { Figures, Latency, Step } from '../../reports/contract/run.ts' */

/**
 * A value and its second, null where it is not known.
 * @typedef {[t: number | null, value: number | null]} Known
 */
/**
 * What memoryGrowth looks at of a process.
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

/** What a figure that is not known counts as for a threshold: it is crossed. */
export const UNKNOWN = 1e9;

/**
 * How much more memory each process held in the last quarter than in the second, in MB, the most first; NaN, at the end, of one that
 * says nothing in one of them. Where the process tells, it is what garbage collections left of its heap, and the least that it had in
 * buffers; of the others the least that was resident: what a process gives back it did not need.
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
 * By how much the values of the last quarter are above those of the second, by some measure of each; NaN where one has none.
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
 * Whether it is a process of the pipeline: `host` is the memory of all programs on that machine, and k6 the generator.
 * @param {{ process: string }} resource
 */
export function ofPipeline({ process }) {
  return process !== 'host' && process !== 'k6';
}

/**
 * What the threshold judges: the most that any process of the run has grown by, in MB; UNKNOWN if one of them, or all but k6, do not tell.
 * @param {{ process: string, mb: number }[]} grown
 */
export function mostGrowth(grown) {
  const judged = grown.filter(({ process }) => process !== 'host');
  const known = judged.every(({ mb }) => !Number.isNaN(mb)) && judged.some(ofPipeline);
  return known ? Math.max(0, ...judged.map(({ mb }) => mb)) : UNKNOWN;
}

/**
 * How much the median of the seconds' p99 has grown, in ms; NaN where a quarter has no second with arrivals.
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
  const ms = (/** @type {number | null} */ x) => (x === null ? 'n/a' : String(Number(x.toPrecision(3)))); // toPrecision alone: 1.23e+3
  return (
    `${name}: ${scheduled} scheduled, ${arrived} deliveries, p50 ${ms(arrival.p50)} ms, p99 ${ms(arrival.p99)} ms, ` +
    `max ${ms(arrival.max)} ms, backlog ${backlog ?? 'n/a'}`
  );
}
