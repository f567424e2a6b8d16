/** The rate at which a generator becomes the bottleneck: the lowest one at which its run is invalid for a reason of its own. */
import type { Run } from '../../../reports/contract/run.ts';
import { search } from '../capacity/search.ts';

/** What a run says when its generator could not keep up. */
const OF_GENERATOR = /^the generator /;
/** Highest and lowest rate of the answer are apart by this share, at most. */
const PRECISION = 0.25;
const MOST_RATES = 12;

export interface Limit {
  tool: string;
  /** Requests/s: the highest rate that it kept up with; 0: none of those tried. */
  kept: number;
  /** The lowest one that was too much; undefined: none. */
  tooMuch: number | undefined;
  /** What the run at that rate said. */
  reason: string | undefined;
}

/** Why the generator was the bottleneck of a run, or undefined where it was not. */
export function bottleneck({ verdict }: Pick<Run, 'verdict'>): string | undefined {
  return verdict.result === 'invalid'
    ? verdict.reasons.find((reason) => OF_GENERATOR.test(reason))
    : undefined;
}

/**
 * Doubles the rate until the generator gives way, then closes in. What it does not keep up with is tried once more: another
 * process of the host may have held it up.
 * @param probe one run at a rate
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
  if (tooMuch === undefined) return `${tool} keeps up with ${kept}/s, the highest rate tried.`;
  if (kept === 0) return `${tool} does not keep up with ${tooMuch}/s, the lowest rate tried: ${reason}.`;
  return `${tool} keeps up with ${kept}/s, and is the bottleneck from ${tooMuch}/s on: ${reason}.`;
}
