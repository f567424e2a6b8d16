/** The answer of the search for the capacity, as text and figures. Pure. */

import type { Probe, Run } from '../../../reports/contract/run.ts';
import { changeText, ms, rate as perSecond, plain } from '../../../reports/format.ts';
import { about } from './budget.ts';
import { type Bracket, middle, type Outcome } from './search.ts';

/** One run of the search, as capacity.json lists it. */
export interface Row {
  rate: number;
  seconds: number;
  outcome: Outcome;
  p99_ms: number | null;
  /** Why it is not held; empty: it is. */
  why: string;
}

interface CapacityResult {
  p99_limit_ms: number;
  /** Requests per second; null: none was confirmed. */
  rate: number | null;
  /** The lowest rate above it that did not hold; null: none was tried. */
  not_held: number | null;
  /** The lowest rate above it, where each run was undecided; null: it was decided, or none was tried. */
  undecided: number | null;
  bottleneck: string | null;
}

/** Settings of capacity/main.ts. */
export interface Settings {
  CONFIRM: number;
  LOWEST: number;
  HIGHEST: number;
  PRECISION: number;
}

/** Words a run in one line. @param ahead about how much of the search is left after it, s */
export function line({ rate, seconds, outcome, p99_ms, why }: Row, ahead: number): string {
  const p99 = `p99 ${ms(p99_ms)} ms`.padEnd(14);
  const said = why === '' ? outcome : `${outcome}: ${why}`;
  const left = ahead > 0 ? ` · about ${about(ahead)} left` : '';
  return `${requests(rate).padStart(19)}  ${`${seconds} s`.padEnd(4)}  ${p99}  ${said}${left}`;
}

/** A rate as text: 1,200 requests/s. */
export const requests = (rate: number) => plain(perSecond(rate, 'requests'));

/** Counts runs with an outcome. */
const counting = (rows: readonly Row[], outcome: Outcome) =>
  rows.filter((row) => row.outcome === outcome).length;

/** Counts the runs at a rate that held, and the undecided ones among the others. */
function runs(rows: readonly Row[], rate: number): { held: number; of: number; apart: string } {
  const tried = rows.filter((row) => row.rate === rate);
  const undecided = counting(tried, 'undecided');
  return {
    held: counting(tried, 'held'),
    of: tried.length,
    apart: undecided > 0 ? `, ${undecided} undecided` : '',
  };
}

/**
 * The answer of a search that ended with a bracket. Where no run decided the upper end, nothing is known of it.
 * @param limit the limit of arrival p99, ms
 */
export function answerOf(
  rows: readonly Row[],
  limit: number,
  { held, notHeld }: Bracket,
  bottleneck: string | null,
): CapacityResult {
  const above = rows.filter(({ rate }) => rate === notHeld);
  const decided = counting(above, 'not held') > 0;
  return {
    p99_limit_ms: limit,
    rate: held > 0 ? held : null,
    not_held: decided ? (notHeld ?? null) : null,
    undecided: decided ? null : (notHeld ?? null),
    bottleneck,
  };
}

/** The answer as figures of the report. */
export function answerFigures(
  { rate, not_held, undecided, bottleneck }: CapacityResult,
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
  if (undecided !== null) {
    figures.push({ name: 'lowest rate that is undecided', value: undecided, unit: 'requests/s' });
    figures.push(tried(undecided));
  }
  return figures;
}

/** The ladder of the report. */
export function probesOf(rows: readonly Row[]): Probe[] {
  return rows.map(({ rate, seconds, outcome, p99_ms }) => ({
    ...{ rate, seconds, held: outcome === 'held', p99_ms },
    ...(outcome === 'undecided' && { undecided: true }),
  }));
}

/**
 * The answer as text: the rate, its confidence, the bottleneck above it, and what may have limited the search.
 * @param enough the minutes that would do for a sure answer, if MINUTES was too little
 */
export function sentence(
  { p99_limit_ms, rate, not_held, undecided, bottleneck }: CapacityResult,
  rows: Row[],
  { CONFIRM, LOWEST, HIGHEST, PRECISION }: Settings,
  enough: number,
): string {
  const open = counting(rows, 'undecided');
  const unsure = `${open} of ${rows.length} runs were undecided: capacity.json says why`;
  if (rate === null) {
    const least = Math.min(...rows.map((row) => row.rate));
    const none = [
      `capacity  none was confirmed: p99 below ${p99_limit_ms} ms held at no rate that was tried for ${CONFIRM} s`,
    ];
    if (least > LOWEST) none.push(`MINUTES ended the search at ${requests(least)}, LOWEST is ${LOWEST}`);
    if (open > 0) none.push(unsure);
    return none.join('\n          ');
  }
  const times = (at: number) => {
    const { held, of, apart } = runs(rows, at);
    return `${held} of ${of} runs${apart}`;
  };
  const lines = [
    `capacity  ${requests(rate)} with p99 below ${p99_limit_ms} ms: held in ${times(rate)}, the last of ${CONFIRM} s`,
  ];
  const more = (text: string) => lines.push(`          ${text}`);
  const remedy = `about MINUTES=${enough} brings it to ${plain(changeText(PRECISION)).replace('+', '')} (PRECISION)`;
  if (undecided !== null) {
    more(`${requests(undecided)} held in ${times(undecided)}: the rate may be higher`);
  } else if (not_held === null) {
    more(
      rate === HIGHEST
        ? 'no higher rate was tried: HIGHEST ends the search there'
        : `no higher rate was tried: MINUTES ends the search there; ${remedy}`,
    );
  } else {
    const width = plain(changeText(not_held / rate - 1));
    const above = `${requests(not_held)} (${width}) held in ${times(not_held)}`;
    more(bottleneck === null ? above : `${above}; bottleneck there: ${bottleneck}`);
    const confirmed = rows.some((row) => row.rate === not_held && row.seconds === CONFIRM);
    if (!confirmed || middle(rate, not_held, PRECISION) !== undefined)
      more(`MINUTES ended the search before it was sure of that: the rate may be higher; ${remedy}`);
  }
  if (open > 0) more(`${unsure}; a machine that is not shared may hold more`);
  return lines.join('\n');
}
