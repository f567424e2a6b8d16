/** The parameters of a search. Rates are requests per second. */
export interface Search {
  start: number;
  /** The search tries rates from lowest to highest only. */
  lowest: number;
  highest: number;
  /** The search ends when the two rates of the bracket differ by no more than this share. */
  precision: number;
}

/** The highest rate that held (0: not even the lowest), and the lowest that did not (undefined: even the highest held). */
export interface Bracket {
  held: number;
  notHeld: number | undefined;
}

/** Tries a rate; gets the bracket so far. */
type Trial = (rate: number, known: Bracket) => Promise<boolean>;

/** The bracket before the first trial. */
export const NOTHING: Bracket = { held: 0, notHeld: undefined };

/** The bracket after a trial. */
export function narrowed(bracket: Bracket, rate: number, holds: boolean): Bracket {
  return holds ? { ...bracket, held: rate } : { ...bracket, notHeld: rate };
}

/** The rate that halves a bracket; undefined: it is narrow enough. */
export function middle(held: number, notHeld: number, precision: number): number | undefined {
  if (notHeld <= held * (1 + precision)) return undefined;
  // The geometric mean, as the precision is a share.
  const rate = Math.round(Math.sqrt(held * notHeld));
  return rate === held || rate === notHeld ? undefined : rate;
}

/** Tries the first rate, and next ones while there are any and time for them. */
async function go(
  first: number,
  holds: Trial,
  next: (found: Bracket) => number | undefined,
  isTime: () => boolean,
): Promise<Bracket> {
  let found = narrowed(NOTHING, first, await holds(first, NOTHING));
  for (let rate = next(found); rate !== undefined && isTime(); rate = next(found))
    found = narrowed(found, rate, await holds(rate, found));
  return found;
}

/**
 * Searches the highest rate that holds: doubling (or halving, while none has held), then bisection.
 * @param isTime whether there is time for another rate
 */
export async function search(
  { start, lowest, highest, precision }: Search,
  holds: Trial,
  isTime: () => boolean,
): Promise<Bracket> {
  const next = ({ held, notHeld }: Bracket): number | undefined => {
    if (held === highest || notHeld === lowest) return undefined;
    if (notHeld === undefined) return Math.min(held * 2, highest);
    if (held === 0) return Math.max(Math.round(notHeld / 2), lowest);
    return middle(held, notHeld, precision);
  };
  return go(Math.min(Math.max(start, lowest), highest), holds, next, isTime);
}

/**
 * Confirms both ends of a bracket with longer runs: the lower one has to hold, the upper one must not. From a wrong end it continues in
 * doubling steps, from the precision on, and then bisects. So a disturbed probe does not decide the answer.
 * @param isTime whether there is time for another rate
 * @returns the confirmed bracket. `held` 0: no rate was confirmed.
 */
export async function confirm(
  probed: Bracket,
  { lowest, highest, precision }: Omit<Search, 'start'>,
  holds: Trial,
  isTime: () => boolean,
): Promise<Bracket> {
  let stride = precision;
  const next = ({ held, notHeld }: Bracket): number | undefined => {
    if (held > 0 && notHeld !== undefined) return middle(held, notHeld, precision);
    if (held === highest || notHeld === lowest || probed.notHeld === undefined) return undefined;
    if (held > 0 && held < probed.notHeld) return probed.notHeld;
    const factor = 1 + stride;
    stride *= 2;
    return notHeld === undefined
      ? Math.min(Math.max(Math.floor(held * factor), held + 1), highest)
      : Math.max(Math.min(Math.ceil(notHeld / factor), notHeld - 1), lowest);
  };
  return probed.held > 0 ? go(probed.held, holds, next, isTime) : NOTHING;
}

/** The outcome of a run. `undecided`: the pipeline may hold the rate, or not. */
export type Outcome = 'held' | 'not held' | 'undecided';

/** Decided runs by which a rate does not hold, and the most runs at a rate. */
const COUNTED = 2;
const TRIES = 4;

/** Repeats a rate while that may change the answer: a disturbance can spoil a run, but nothing makes an overloaded one hold. */
export async function tried(attempt: () => Promise<Outcome>, isTime: () => boolean): Promise<boolean> {
  for (let tries = 0, counted = 0; tries < TRIES && counted < COUNTED; tries++) {
    if (tries > 0 && !isTime()) break;
    const outcome = await attempt();
    if (outcome === 'held') return true;
    if (outcome === 'not held') counted++;
  }
  return false;
}

/** Estimate of the rates that a search still has to try, if each doubled rate holds. */
export function ahead(
  { held, notHeld }: Bracket,
  { start, lowest, highest, precision }: Search,
): { doublings: number; halvings: number } {
  const steps = (ratio: number) => Math.max(0, Math.ceil(Math.log2(ratio)));
  const halvings = (ratio: number) => steps(Math.log(ratio) / Math.log(1 + precision));
  if (held === highest || notHeld === lowest) return { doublings: 0, halvings: 0 };
  if (held > 0 && notHeld !== undefined) return { doublings: 0, halvings: halvings(notHeld / held) };
  const doublings = notHeld === undefined ? steps(highest / (held || start)) : steps(notHeld / lowest);
  return { doublings, halvings: halvings(2) };
}
