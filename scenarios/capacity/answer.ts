/** What the search for the capacity found, in words. Pure. */

/** One probe, as capacity.json lists it. */
export interface Row {
  rate: number;
  seconds: number;
  holds: boolean;
  p99_ms: number | null;
  reasons: string[];
}

export interface Answer {
  p99_limit_ms: number;
  /** Requests per second; null: none was confirmed. */
  rate: number | null;
  not_held: number | null;
  gave_way: string | null;
}

/**
 * The answer in words: the rate, how sure it is, and what gave way above it.
 * @param confirm s of a confirming run
 * @param highest no rate above this one is tried
 */
export function sentence(
  { p99_limit_ms, rate, not_held, gave_way }: Answer,
  rows: Row[],
  confirm: number,
  highest: number,
): string {
  if (rate === null)
    return `capacity  none was confirmed: p99 below ${p99_limit_ms} ms held at no rate that was tried for ${confirm} s`;
  const times = (at: number) => {
    const tried = rows.filter((row) => row.rate === at);
    return `${tried.filter(({ holds }) => holds).length} of ${tried.length} runs`;
  };
  const first = `capacity  ${rate} requests/s with p99 below ${p99_limit_ms} ms: held in ${times(rate)}, the last of ${confirm} s`;
  if (not_held === null) {
    const end = rate === highest ? 'HIGHEST' : 'PROBES';
    return `${first}\n          no higher rate was tried: ${end} ends the search there`;
  }
  const width = ((not_held / rate - 1) * 100).toFixed(1);
  const above = `          ${not_held}/s (${width} % above) held in ${times(not_held)}`;
  return `${first}\n${above}${gave_way === null ? '' : `; what gave way there: ${gave_way}`}`;
}
