/** Finds the rate at which a generator becomes the bottleneck: the lowest one with a run that breaks its rules. */
import type { Run } from '../../../reports/contract/run.ts';
import { requests } from '../capacity/answer.ts';
import { search } from '../capacity/search.ts';

/** Rules that a generator breaks which does not keep up. */
const OF_GENERATOR = ['lateness', 'cpu', 'socket_wait', 'dropped', 'offered'];
/** The widest gap between the rates of the answer, as a share. */
const PRECISION = 0.25;
const MOST_RATES = 12;

export interface Limit {
  tool: string;
  /** Requests/s: the highest rate that it kept up with; 0: none of those tried. */
  kept: number;
  /** The lowest one that was too much; undefined: none. */
  tooMuch: number | undefined;
  /** The reason of the run at that rate. */
  reason: string | undefined;
}

/** Why the generator was the bottleneck of a run; undefined: it was not. */
export function bottleneck({ verdict }: Pick<Run, 'verdict'>): string | undefined {
  const broken = verdict.rules.find(({ name, ok }) => ok === false && OF_GENERATOR.includes(name));
  return broken && (broken.reason || broken.name);
}

/**
 * Doubles the rate until the generator does not keep up, then bisects. It tries a failed rate once more, as another process of the
 * host may be the cause.
 * @param probe runs one rate
 */
export async function findLimit(
  tool: string,
  start: number,
  highest: number,
  probe: (rate: number) => Promise<Pick<Run, 'verdict'>>,
): Promise<Limit> {
  let reason: string | undefined;
  let tried = 0;
  const keepsUp = async (rate: number) => {
    tried++;
    for (let attempt = 0; attempt < 2; attempt++) {
      const why = bottleneck(await probe(rate));
      if (why === undefined) return true;
      reason = why;
    }
    return false;
  };
  const lowest = Math.min(start, 25);
  const { held, notHeld } = await search(
    { start, lowest, highest, precision: PRECISION },
    keepsUp,
    () => tried < MOST_RATES,
  );
  return { tool, kept: held, tooMuch: notHeld, reason: notHeld === undefined ? undefined : reason };
}

export function limitText({ tool, kept, tooMuch, reason }: Limit): string {
  if (tooMuch === undefined) return `${tool} keeps up with ${requests(kept)}, the highest rate tried.`;
  if (kept === 0)
    return `${tool} does not keep up with ${requests(tooMuch)}, the lowest rate tried: ${reason}.`;
  return `${tool} keeps up with ${requests(kept)}, and is the bottleneck from ${requests(tooMuch)} on: ${reason}.`;
}
