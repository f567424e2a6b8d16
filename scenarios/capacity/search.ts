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

/** What a bracket has to stand up to. */
export interface Check {
  lowest: number;
  highest: number;
  precision: number;
  /** Most rates that are checked. */
  most: number;
}

/**
 * Tries both ends of a bracket with longer runs: the lower end has to hold, and the upper one must not. An end that turns out to be on
 * the other side moves the bracket by the precision, so one probe that was disturbed does not decide the answer.
 * @param isHeld a longer run of a rate that may be the answer
 * @param isNotHeld a longer run of the rate above it
 * @returns `held` 0: no rate stood up to it. `notHeld` undefined: even the highest holds.
 */
export async function confirm(
  bracket: Bracket,
  { lowest, highest, precision, most }: Check,
  isHeld: (rate: number) => Promise<boolean>,
  isNotHeld: (rate: number) => Promise<boolean>,
): Promise<Bracket> {
  let { held: rate, notHeld } = bracket;
  let held = 0;
  let above: 'checked' | 'probed' = 'probed';
  for (let checks = 0; checks < most && rate >= lowest; checks++) {
    if (held === 0) {
      if (await isHeld(rate)) held = rate;
      else {
        [notHeld, above] = [rate, 'checked'];
        rate = Math.floor(rate / (1 + precision));
      }
    } else if (notHeld === undefined || above === 'checked') break;
    else if (await isNotHeld(notHeld)) above = 'checked';
    else {
      held = notHeld;
      notHeld = held < highest ? Math.min(Math.ceil(held * (1 + precision)), highest) : undefined;
    }
  }
  return { held, notHeld };
}
