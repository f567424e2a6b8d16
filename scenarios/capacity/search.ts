/** What to look for. Rates are requests per second. */
export interface Search {
  start: number;
  /** Rates from lowest to highest are tried, no other. */
  lowest: number;
  highest: number;
  /** The search ends when the lowest rate that did not hold is above the highest one that did by no more than this share. */
  precision: number;
  /** Most probes; each is at one rate. */
  most: number;
}

/** `held` 0: not even the lowest rate did. `notHeld` undefined: even the highest did. */
export interface Bracket {
  held: number;
  notHeld: number | undefined;
}

/** Looks for the highest rate that holds: doubling (or halving, while none has held), then bisection. */
export async function search(
  { start, lowest, highest, precision, most }: Search,
  holds: (rate: number) => Promise<boolean>,
): Promise<Bracket> {
  let held = 0;
  let notHeld: number | undefined;
  let rate = Math.min(Math.max(start, lowest), highest);
  for (let probe = 0; probe < most; probe++) {
    if (await holds(rate)) held = rate;
    else notHeld = rate;
    if (held === highest || notHeld === lowest) break;
    if (notHeld === undefined) rate = Math.min(rate * 2, highest);
    else if (held === 0) rate = Math.max(Math.round(rate / 2), lowest);
    else {
      if (notHeld <= held * (1 + precision)) break;
      // In the middle by ratio: what matters is the precision as a share.
      rate = Math.round(Math.sqrt(held * notHeld));
      if (rate === held || rate === notHeld) break;
    }
  }
  return { held, notHeld };
}
