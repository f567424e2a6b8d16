/** Where a difference of mean arrival comes from: the account of means by stage, which needs no interval. Pure. */
import { ms } from '../page/format.ts';
import type { Subject } from './comparison.ts';

/** Changes of means from the baseline's, ms. The stages add up to the whole. */
export interface Waterfall {
  /** Sums of the means of all stages, of the baseline and of the other. */
  from: number;
  to: number;
  /** In the order of the stages; a stage that one of them does not have counts there as 0. */
  steps: { stage: string; change: number }[];
}

/** A change that is a smaller part of the largest one is not named. */
const LEAST_NAMED = 0.02;

/** @returns null: they are not comparable, or one of them has no stages */
export function waterfallOf(baseline: Subject, subject: Subject): Waterfall | null {
  if (baseline.obstacle !== null || subject.obstacle !== null) return null;
  const names = Object.keys(baseline.stages);
  const known = ({ stages }: Subject) => names.filter((stage) => stages[stage] != null).length > 1;
  if (!known(baseline) || !known(subject)) return null;
  const steps = names.map((stage) => ({
    stage,
    change: (subject.stages[stage] ?? 0) - (baseline.stages[stage] ?? 0),
  }));
  const sum = ({ stages }: Subject) => names.reduce((total, stage) => total + (stages[stage] ?? 0), 0);
  return { from: sum(baseline), to: sum(subject), steps };
}

/** mean +0.800 ms: queue +0.860, delivery −0.080, relay −0.020 */
export function waterfallText({ from, to, steps }: Waterfall): string {
  const size = ({ change }: { change: number }) => Math.abs(change);
  const ordered = steps.toSorted((a, b) => size(b) - size(a));
  const least = LEAST_NAMED * (ordered[0] === undefined ? 0 : size(ordered[0]));
  const named = ordered.filter((step) => size(step) >= Math.max(least, 0.0005));
  const parts = named.map(({ stage, change }) => `${stage} ${signed(change)}`);
  return `mean ${signed(to - from)} ms${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}

/** +0.860, −0.080 */
export function signed(change: number): string {
  const text = ms(Math.abs(change));
  return Number(text) === 0 ? '±0' : `${change < 0 ? '−' : '+'}${text}`;
}

/** A sentence for each other subject that has one: B: mean +0.800 ms: queue +0.860. */
export function waterfalls([baseline, ...others]: readonly Subject[]): string[] {
  return others.flatMap((subject) => {
    const found = baseline === undefined ? null : waterfallOf(baseline, subject);
    return found === null ? [] : `${subject.letter} against ${baseline?.letter}: ${waterfallText(found)}`;
  });
}
