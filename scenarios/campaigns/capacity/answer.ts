/** The answer of the search for the capacity, as text and figures. Pure. */

import type { Probe, Run } from '../../../reports/contract/run.ts';
import { changeText, ms, rate as perSecond, plain } from '../../../reports/page/format.ts';
import { about } from './budget.ts';
import { middle } from './search.ts';

/** One run of the search, as capacity.json lists it. */
export interface Row {
  rate: number;
  seconds: number;
  holds: boolean;
  p99_ms: number | null;
  reasons: string[];
  /** A reason outside the pipeline why it may not have held; null: none. */
  disturbed: string | null;
}

export interface Answer {
  p99_limit_ms: number;
  /** Requests per second; null: none was confirmed. */
  rate: number | null;
  not_held: number | null;
  bottleneck: string | null;
}

/** Settings of capacity/main.ts. */
export interface Settings {
  CONFIRM: number;
  HIGHEST: number;
  PRECISION: number;
}

/** A run in one line. @param ahead s left of the search after it, about */
export function line({ rate, seconds, holds, p99_ms, reasons, disturbed }: Row, ahead: number): string {
  const p99 = `p99 ${ms(p99_ms)} ms`.padEnd(14);
  const said = holds
    ? 'held'
    : `not held: ${[...reasons, ...(disturbed === null ? [] : [disturbed])].join(', ')}`;
  const left = ahead > 0 ? ` · about ${about(ahead)} left` : '';
  return `${requests(rate).padStart(19)}  ${`${seconds} s`.padEnd(4)}  ${p99}  ${said}${left}`;
}

const requests = (rate: number) => plain(perSecond(rate, 'requests'));

/** Counts the runs at a rate that held, and the disturbed ones among the others. */
function runs(rows: Row[], rate: number): { held: number; of: number; apart: string } {
  const tried = rows.filter((row) => row.rate === rate);
  const disturbed = tried.filter((row) => row.disturbed !== null).length;
  return {
    held: tried.filter(({ holds }) => holds).length,
    of: tried.length,
    apart: disturbed > 0 ? `, ${disturbed} disturbed` : '',
  };
}

/** The answer as figures of the report. */
export function answerFigures(
  { rate, not_held, bottleneck }: Answer,
  rows: Row[],
): NonNullable<Run['figures']> {
  const tried = (at: number, more = '') => {
    const { held, of, apart } = runs(rows, at);
    return { name: `runs at ${requests(at)} that held${more}`, value: held, unit: `of ${of}${apart}` };
  };
  const figures: NonNullable<Run['figures']> = [
    { name: 'highest rate that held', value: rate, unit: 'requests/s' },
  ];
  if (rate !== null) figures.push(tried(rate));
  if (not_held !== null) {
    figures.push({ name: 'lowest rate that did not', value: not_held, unit: 'requests/s' });
    figures.push(tried(not_held, bottleneck === null ? '' : `; bottleneck: ${bottleneck}`));
  }
  return figures;
}

/** The ladder of the report. */
export function probesOf(rows: readonly Row[]): Probe[] {
  return rows.map(({ rate, seconds, holds, p99_ms }) => ({ rate, seconds, held: holds, p99_ms }));
}

/** The answer as text: the rate, its confidence, the bottleneck above it, and what may have limited the search. */
export function sentence(
  { p99_limit_ms, rate, not_held, bottleneck }: Answer,
  rows: Row[],
  { CONFIRM, HIGHEST, PRECISION }: Settings,
): string {
  if (rate === null)
    return `capacity  none was confirmed: p99 below ${p99_limit_ms} ms held at no rate that was tried for ${CONFIRM} s`;
  const times = (at: number) => {
    const { held, of, apart } = runs(rows, at);
    return `${held} of ${of} runs${apart}`;
  };
  const lines = [
    `capacity  ${requests(rate)} with p99 below ${p99_limit_ms} ms: held in ${times(rate)}, the last of ${CONFIRM} s`,
  ];
  const more = (text: string) => lines.push(`          ${text}`);
  if (not_held === null) {
    more(`no higher rate was tried: ${rate === HIGHEST ? 'HIGHEST' : 'MINUTES'} ends the search there`);
  } else {
    const width = plain(changeText(not_held / rate - 1));
    const above = `${requests(not_held)} (${width}) held in ${times(not_held)}`;
    more(bottleneck === null ? above : `${above}; bottleneck there: ${bottleneck}`);
    const confirmed = rows.some((row) => row.rate === not_held && row.seconds === CONFIRM);
    if (!confirmed || middle(rate, not_held, PRECISION) !== undefined)
      more('MINUTES ended the search before it was sure of that: the rate may be higher');
  }
  const disturbed = rows.filter((row) => row.disturbed !== null).length;
  if (disturbed > 0)
    more(
      `${disturbed} of ${rows.length} runs were disturbed: capacity.json says by what; a machine that is not shared may hold more`,
    );
  return lines.join('\n');
}
