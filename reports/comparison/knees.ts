/** The knees of sweeps of concurrency, and how far apart they are. Pure. */

import type { Run } from '../contract/run.ts';
import { count, msUnit, plural } from '../format.ts';
import type { Knee, StepSummary, Subject } from './comparison.ts';

export type Point = StepSummary & { vus: number };

/** The measured steps of a sweep by ascending concurrency; empty for other subjects. */
export function pointsOf({ steps }: Pick<Subject, 'steps'>): Point[] {
  const points = steps
    .filter((step): step is Point => step.measured && step.vus !== null && step.vus > 0)
    .sort((a, b) => a.vus - b.vus);
  return points.length > 1 ? points : [];
}

/**
 * The knee of a subject; for repeats the (lower) median.
 * @returns null: it has none
 */
export function kneeOf(steps: StepSummary[], runs: readonly Run[]): Knee | null {
  const knees = runs.map(({ knee }) => knee);
  knees.sort((a, b) => (a?.vus ?? Number.POSITIVE_INFINITY) - (b?.vus ?? Number.POSITIVE_INFINITY));
  const middle = knees[Math.floor((knees.length - 1) / 2)] ?? null;
  const there = pointsOf({ steps }).find(({ vus }) => vus === middle?.vus);
  return middle && { ...middle, p50: there?.arrival.p50 ?? null };
}

/** A sentence for each sweep with its knee, and one for each difference from the baseline's knee. */
export function turns(subjects: readonly Subject[]): string[] {
  const sweeps = subjects.filter((subject) => pointsOf(subject).length > 0);
  const [baseline, ...others] = sweeps;
  if (baseline === undefined || others.length === 0) return [];
  return [...sweeps.map(turn), ...others.map((subject) => apart(baseline, subject))];
}

function turn({ letter, knee: at, ...subject }: Subject): string {
  if (!at) return `${letter} has no knee up to ${plural(pointsOf(subject).at(-1)?.vus ?? 0, 'VU')}.`;
  if (at.vus === 0) {
    const longest = at.stage === '' ? '' : `, and ${at.stage} takes longest`;
    return `${letter}: knee below ${plural(at.next, 'VU')}: with ${count(at.next)} a backlog already grows${longest}.`;
  }
  const grew = at.stage === '' ? '' : `; ${at.stage} has grown most`;
  return `${letter}: knee at ${plural(at.vus, 'VU')}, arrival p50 ${msUnit(at.p50)} there; from ${plural(at.next, 'VU')} on it stays high${grew}.`;
}

function apart(baseline: Subject, subject: Subject): string {
  const [a, b] = [baseline.knee, subject.knee];
  const named = `${subject.letter} against ${baseline.letter}`;
  if (!a && !b) return `${named}: neither has a knee.`;
  if (!a || !b) return `${named}: only ${(a ? baseline : subject).letter} has a knee.`;
  const where =
    a.vus === b.vus
      ? 'both turn at the same step'
      : b.vus === 0 || a.vus === 0
        ? `turns ${b.vus === 0 ? 'earlier' : 'later'}`
        : `turns ${plural(Math.abs(a.vus - b.vus), 'VU')} ${b.vus < a.vus ? 'earlier' : 'later'}`;
  // At this step the run with the earlier knee has taken off; the other one may have too.
  const vus = Math.min(a.next, b.next);
  const [p, q] = [baseline, subject].map(
    (one) => pointsOf(one).find((point) => point.vus === vus)?.arrival.p50,
  );
  const there =
    p == null || q == null ? '' : `; with ${plural(vus, 'VU')} arrival p50 is ${msUnit(p)} → ${msUnit(q)}`;
  const stages =
    a.stage !== b.stage ? `; what grows is ${a.stage || 'not known'} → ${b.stage || 'not known'}` : '';
  return `${named}: ${where}${there}${stages}.`;
}
