/** What to look for. Rates are requests per second. */
export interface Search {
  start: number;
  /** Rates from lowest to highest are tried, no other. */
  lowest: number;
  highest: number;
  /** The search ends when the lowest rate that did not hold is above the highest one that did by no more than this share. */
  precision: number;
}

/** `held` 0: not even the lowest rate did. `notHeld` undefined: even the highest did. */
export interface Bracket {
  held: number;
  notHeld: number | undefined;
}

/** Tries a rate; gets what is known so far. */
type Trial = (rate: number, known: Bracket) => Promise<boolean>;

/** Before the first trial. */
export const NOTHING: Bracket = { held: 0, notHeld: undefined };

/** What is known after a trial. */
export function narrowed(bracket: Bracket, rate: number, holds: boolean): Bracket {
  return holds ? { ...bracket, held: rate } : { ...bracket, notHeld: rate };
}

/** The rate that halves a bracket; undefined where it is as narrow as was asked for. */
export function middle(held: number, notHeld: number, precision: number): number | undefined {
  if (notHeld <= held * (1 + precision)) return undefined;
  // In the middle by ratio: what matters is the precision as a share.
  const rate = Math.round(Math.sqrt(held * notHeld));
  return rate === held || rate === notHeld ? undefined : rate;
}

/** Tries the first rate, and the next one while there is one and the time for it. */
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
 * Looks for the highest rate that holds: doubling (or halving, while none has held), then bisection.
 * @param isTime whether there is time for one rate more
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
 * Tries both ends of what was found with longer runs: the lower end has to hold, and the upper one must not. From an end that is on the
 * other side it goes on in strides that double, from the precision on, and then halves the span: one probe that was disturbed does not
 * decide the answer, and one that was far off is left behind soon.
 * @param isTime whether there is time for one rate more
 * @returns what longer runs say. `held` 0: no rate stood up to it.
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

/** What a rate that is tried may turn out to be: `disturbed` is one that did not hold, which may not be its own fault. */
export type Outcome = 'held' | 'not held' | 'disturbed';

/** Runs at a rate that may say that it does not hold, and runs at it in all. */
const COUNTED = 2;
const TRIES = 4;

/** Tries a rate again while that may change the answer: what holds the machine up can spoil a run; nothing makes an overloaded one hold. */
export async function tried(attempt: () => Promise<Outcome>, isTime: () => boolean): Promise<boolean> {
  for (let tries = 0, counted = 0; tries < TRIES && counted < COUNTED; tries++) {
    if (tries > 0 && !isTime()) break;
    const outcome = await attempt();
    if (outcome === 'held') return true;
    if (outcome === 'not held') counted++;
  }
  return false;
}

/** How many rates a search still has to try, about: as if each that is doubled held, as far as the highest. */
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
