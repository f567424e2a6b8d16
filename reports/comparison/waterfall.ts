/** Explains a difference of mean arrival by the means of the stages, which needs no interval. Pure. */
import type { Comparison, Subject } from './comparison.ts';
import { withoutTable } from './outcome.ts';
import { marks, signed } from './words.ts';

/** Changes of means from the baseline's, ms. The stages add up to the whole. */
export interface Waterfall {
  /** The stages are those of sampled messages, by spans. */
  sampled: boolean;
  /** Sums of the means of all stages, of the baseline and of the other. */
  from: number;
  to: number;
  /** The changes in the order of the stages; a stage that one of them does not have counts there as 0. */
  steps: { stage: string; change: number }[];
}

/** Means by stage. */
export interface Budget {
  /** The stages are those of sampled messages, by spans. */
  sampled: boolean;
  /** The stages of all, in order. */
  names: string[];
  of: (subject: Subject) => Record<string, number | null>;
}

/** A change that is a smaller part of the largest one is not named. */
const LEAST_NAMED = 0.02;

/** The stages by stamps; where no subject has any, those by spans. The first stage is known without stamps. */
export function budgetOf(subjects: readonly Subject[]): Budget {
  const known = ({ stages }: Subject) => Object.values(stages).filter((mean) => mean !== null).length > 1;
  const names = Object.keys(subjects[0]?.spans ?? {});
  if (names.length > 0 && !subjects.some(known)) return { sampled: true, names, of: ({ spans }) => spans };
  return { sampled: false, names: Object.keys(subjects[0]?.stages ?? {}), of: ({ stages }) => stages };
}

/** @returns null: they are not comparable, one of them has no stages, or spans divide the time at other marks */
export function waterfallOf(baseline: Subject, subject: Subject): Waterfall | null {
  if (baseline.obstacle !== null || subject.obstacle !== null) return null;
  const { sampled, names, of } = budgetOf([baseline, subject]);
  const known = (one: Subject) => names.filter((stage) => of(one)[stage] != null);
  const [a, b] = [known(baseline), known(subject)];
  if (a.length < 2 || b.length < 2 || (sampled && a.join() !== b.join())) return null;
  const mean = (one: Subject, stage: string) => of(one)[stage] ?? 0;
  const those = sampled ? a : names;
  const steps = those.map((stage) => ({ stage, change: mean(subject, stage) - mean(baseline, stage) }));
  const sum = (one: Subject) => those.reduce((total, stage) => total + mean(one, stage), 0);
  return { sampled, from: sum(baseline), to: sum(subject), steps };
}

/** The stages that explain a change, the largest first. */
function namedOf({ steps }: Waterfall): Waterfall['steps'] {
  const size = ({ change }: { change: number }) => Math.abs(change);
  const ordered = steps.toSorted((a, b) => size(b) - size(a));
  const least = LEAST_NAMED * (ordered[0] === undefined ? 0 : size(ordered[0]));
  return ordered.filter((step) => size(step) >= Math.max(least, 0.0005));
}

/** mean +0.800 ms: queue +0.860, delivery −0.080, relay −0.020 */
export function waterfallText(found: Waterfall): string {
  const { sampled, from, to } = found;
  const parts = namedOf(found).map(
    ({ stage, change }) => `${sampled ? marks(stage) : stage} ${signed(change)}`,
  );
  const whose = sampled ? 'mean of sampled messages' : 'mean';
  return `${whose} ${signed(to - from)} ms${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}

/**
 * A sentence for each other subject that has one: B: mean +0.800 ms: queue +0.860. None where no stage changed by a figure that is
 * shown, or where the answer is that no difference is shown.
 */
export function waterfalls(comparison: Comparison): string[] {
  const [baseline, ...others] = comparison.subjects;
  return others.flatMap((subject, k) => {
    const found = baseline === undefined ? null : waterfallOf(baseline, subject);
    if (found === null || namedOf(found).length === 0 || withoutTable(comparison, k + 1) !== null) return [];
    return `${subject.letter} against ${baseline?.letter}: ${waterfallText(found)}`;
  });
}
