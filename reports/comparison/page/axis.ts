/** A logarithmic axis of ratios, with ×1 in the middle. Pure. */
import { local } from '../../format.ts';
import type { Difference } from '../comparison.ts';

export interface Axis {
  /** The ratio at its end; at its beginning stands 1 / `reach`. */
  reach: number;
  ticks: Tick[];
}

interface Tick {
  label: string;
  /** The position, % of the axis. */
  at: number;
}

/** An axis from ×0.5 to ×2 shows what matters; what is further out needs more. */
const REACHES = [2, 5, 10, 100, 1000];

/** One axis for all, so that what is longer is more. */
export function axisOf(differences: readonly Difference[]): Axis {
  const ends = differences.flatMap(({ relative, interval }) => [
    relative ?? 0,
    interval?.low ?? 0,
    interval?.high ?? 0,
  ]);
  const furthest = Math.max(1, ...ends.map((end) => Math.exp(Math.abs(Math.log1p(end)))));
  const reach = REACHES.find((one) => one >= furthest) ?? (REACHES.at(-1) as number);
  const half = reach > 2 && reach <= 10 ? [2] : reach > 10 ? [10] : [];
  const marks = [...new Set([1 / reach, ...half.map((one) => 1 / one), 1, ...half, reach])];
  return {
    reach,
    ticks: marks.map((ratio) => ({
      label: `×${local(Number(ratio.toPrecision(1)), { maximumSignificantDigits: 6 })}`,
      at: placeOf(ratio, reach),
    })),
  };
}

/** The place of a ratio, in % of the axis; one beyond the axis is placed at its end. */
export function placeOf(ratio: number, reach: number): number {
  const share = Math.log(ratio) / Math.log(reach);
  return 50 + 50 * Math.max(-1, Math.min(1, Number.isNaN(share) ? 0 : share));
}
