// What a process uses for each connection that it holds, from the resources in run.json.

/**
 * Memory grown until all connections are open, and CPU while they are held and used.
 * @param {{ process: string, series: (number | null)[][] }[]} resources
 * @param {string} process
 * @param {number} connections
 * @param {number} opening s
 * @param {number} hold s
 * @returns {{kb: number, us: number}} KB, and µs of CPU in a second; NaN without figures of the process
 */
export function cost(resources, process, connections, opening, hold) {
  const series = resources.find((r) => r.process === process)?.series ?? [];
  const known = series
    .flatMap(([t, cpu, rss]) => (t === null || cpu === null || rss === null ? [] : [{ t, cpu, rss }]))
    .sort((a, b) => a.t - b.t);
  const held = known.filter(({ t }) => t >= opening && t < opening + hold);
  if (held.length === 0) return { kb: Number.NaN, us: Number.NaN };
  const cpu = held.reduce((sum, { cpu }) => sum + cpu, 0) / held.length;
  return {
    kb: ((held[0].rss - known[0].rss) * 1000) / connections,
    us: (cpu * 10_000) / connections,
  };
}
