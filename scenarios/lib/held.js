// What a process uses for each of the connections that it holds, from what run.json says of its seconds.

/**
 * Memory from the run's first second until all are open, and CPU while they are held with what goes over them.
 * @returns {{kb: number, us: number}} KB, and µs of CPU in a second; NaN where the process does not tell
 */
export function cost(resources, process, connections, opening, hold) {
  const series = resources.find((r) => r.process === process)?.series ?? [];
  const known = series.filter((row) => row.every((value) => value !== null)).sort(([a], [b]) => a - b);
  const held = known.filter(([t]) => t >= opening && t < opening + hold);
  if (held.length === 0) return { kb: Number.NaN, us: Number.NaN };
  const cpu = held.reduce((sum, [, percent]) => sum + percent, 0) / held.length;
  return {
    kb: ((held[0][2] - known[0][2]) * 1000) / connections,
    us: (cpu * 10_000) / connections,
  };
}
