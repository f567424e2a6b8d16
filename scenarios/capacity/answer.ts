/** What the search for the capacity found, in words and figures. Pure. */
import type { Run } from '../../reports/run.ts';

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

/** In how many of the runs at a rate it was held. */
function runs(rows: Row[], rate: number): [held: number, of: number] {
  const tried = rows.filter((row) => row.rate === rate);
  return [tried.filter(({ holds }) => holds).length, tried.length];
}

/** The answer as figures of the report. A rate of null stands as not available. */
export function answerFigures(
  { rate, not_held, gave_way }: Answer,
  rows: Row[],
): NonNullable<Run['figures']> {
  const tried = (at: number, more = '') => {
    const [held, of] = runs(rows, at);
    return { name: `runs at ${at}/s that held${more}`, value: held, unit: `of ${of}` };
  };
  const figures: NonNullable<Run['figures']> = [{ name: 'highest rate that held', value: rate, unit: '/s' }];
  if (rate !== null) figures.push(tried(rate));
  if (not_held !== null) {
    figures.push({ name: 'lowest rate that did not', value: not_held, unit: '/s' });
    figures.push(tried(not_held, gave_way === null ? '' : `; what gave way: ${gave_way}`));
  }
  return figures;
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
    const [held, of] = runs(rows, at);
    return `${held} of ${of} runs`;
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
