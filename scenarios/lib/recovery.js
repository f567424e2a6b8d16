// When a pipeline has recovered from a phase, from the timeline of its run (a row a second).

const worst = (rows, value) => Math.max(...rows.map(value).filter((x) => x !== undefined && x !== null));

/** The rows from the end of phase `burst` on. */
function aftermath(timeline, burst) {
  const end = timeline.findLastIndex(({ phase }) => phase === burst);
  return timeline.slice(end + 1);
}

/** Seconds after the burst from which on `holds` does, for each row that is left; undefined: it does not come about. */
function holdsFrom(rows, holds) {
  const last = rows.findLastIndex((row) => !holds(row));
  return last + 1 < rows.length ? last + 1 : undefined;
}

/** Seconds until the backlog is no longer above its highest in the phase `calm`. */
export function drained(timeline, calm, burst) {
  const usual = worst(
    timeline.filter(({ phase }) => phase === calm),
    ({ backlog }) => backlog,
  );
  return holdsFrom(aftermath(timeline, burst), ({ backlog }) => backlog <= usual);
}

/** Seconds until p99 of each second is no more than `factor` times the worst one of the phase `calm`, its first second apart. */
export function restored(timeline, calm, burst, factor) {
  const rows = timeline.filter(({ phase }) => phase === calm);
  const usual = worst(rows.length > 1 ? rows.slice(1) : rows, ({ arrival }) => arrival?.p99);
  // What arrives after the last phase is too little to judge a percentile by.
  const judged = aftermath(timeline, burst).filter(({ phase }) => phase !== null);
  return holdsFrom(judged, ({ arrival }) => arrival !== null && arrival.p99 <= factor * usual);
}

/** How many deliveries the backlog grows by in each second of a phase: the slope of the line through its seconds. */
export function backlogGrowth(timeline, phase) {
  const rows = timeline.filter((row) => row.phase === phase);
  const mean = (value) => rows.reduce((sum, row) => sum + value(row), 0) / rows.length;
  const [t, backlog] = [mean((row) => row.t), mean((row) => row.backlog)];
  const spread = mean((row) => (row.t - t) ** 2);
  return spread > 0 ? mean((row) => (row.t - t) * (row.backlog - backlog)) / spread : 0;
}
