// When a pipeline has recovered from a burst, from the steps and the timeline of its run (a row a second).

/**
 * A second of the timeline.
 * @typedef {{ t: number, phase: string | null, backlog: number, arrival: { p99: number | null } | null }} Row
 */
/** @typedef {{ timeline: Row[], steps: { name: string, start_s: number, duration_s: number }[] }} Recovering */

/**
 * @param {Row[]} rows
 * @param {(row: Row) => number | null | undefined} value
 */
const worst = (rows, value) => Math.max(...rows.map(value).filter((x) => x !== undefined && x !== null));

/**
 * The rows that begin after the step `burst`.
 * @param {Recovering} run
 * @param {string} burst
 */
function aftermath({ timeline, steps }, burst) {
  const step = steps.find(({ name }) => name === burst);
  if (step === undefined) throw new Error(`the run has no step ${burst}`);
  const { start_s, duration_s } = step;
  return timeline.filter(({ t }) => t >= start_s + duration_s);
}

/**
 * Seconds after the burst until `holds` is true for all further rows; undefined: never.
 * @param {Row[]} rows
 * @param {(row: Row) => boolean} holds
 */
function holdsFrom(rows, holds) {
  const last = rows.findLastIndex((row) => !holds(row));
  return last + 1 < rows.length ? last + 1 : undefined;
}

/**
 * Seconds until the backlog stays at or below its highest in the phase `calm`.
 * @param {Recovering} run
 * @param {string} calm
 * @param {string} burst
 */
export function drained(run, calm, burst) {
  const usual = worst(
    run.timeline.filter(({ phase }) => phase === calm),
    ({ backlog }) => backlog,
  );
  return holdsFrom(aftermath(run, burst), ({ backlog }) => backlog <= usual);
}

/**
 * Seconds until each second's p99 is at most `factor` times the worst one of the phase `calm`, without its first second.
 * @param {Recovering} run
 * @param {string} calm
 * @param {string} burst
 * @param {number} factor
 */
export function restored(run, calm, burst, factor) {
  const rows = run.timeline.filter(({ phase }) => phase === calm);
  const usual = worst(rows.length > 1 ? rows.slice(1) : rows, ({ arrival }) => arrival?.p99);
  // After the last phase too few messages arrive for a percentile.
  const judged = aftermath(run, burst).filter(({ phase }) => phase !== null);
  return holdsFrom(judged, ({ arrival }) => (arrival?.p99 ?? Number.POSITIVE_INFINITY) <= factor * usual);
}

/**
 * Growth of the backlog in a phase, deliveries a second: the slope of the line through its seconds.
 * @param {Row[]} timeline
 * @param {string} phase
 */
export function backlogGrowth(timeline, phase) {
  const rows = timeline.filter((row) => row.phase === phase);
  const mean = (/** @type {(row: Row) => number} */ value) =>
    rows.reduce((sum, row) => sum + value(row), 0) / rows.length;
  const [t, backlog] = [mean((row) => row.t), mean((row) => row.backlog)];
  const spread = mean((row) => (row.t - t) ** 2);
  return spread > 0 ? mean((row) => (row.t - t) * (row.backlog - backlog)) / spread : 0;
}
