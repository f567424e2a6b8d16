/** Where sweeps of concurrency turn, and how far that is apart. Pure. */
import { count, msUnit, plural } from '../page/format.ts';
import type { Run } from '../run.ts';
import { grown, knee, pointOf, sweepSteps } from '../sweep.ts';
import type { Knee, StepSummary, Subject } from './comparison.ts';

export type Point = StepSummary & { vus: number };

/** The measured steps of the closed model by ascending concurrency; empty where the subject is no sweep. */
export function pointsOf({ steps }: Pick<Subject, 'steps'>): Point[] {
  const points = steps
    .filter((step): step is Point => step.measured && step.vus !== null && step.vus > 0)
    .sort((a, b) => a.vus - b.vus);
  return points.length > 1 ? points : [];
}

/** @param run the one whose stages are looked at: of repeats the first */
export function kneeOf(steps: StepSummary[], run: Run): Knee | null {
  const points = pointsOf({ steps });
  const stepOf = ({ vus }: Point) => sweepSteps(run).find((step) => step.vus === vus);
  const at = knee(
    points.map((point) => {
      const step = stepOf(point);
      return step ? pointOf(step, point.arrival.p50) : { p50: point.arrival.p50, owed: false };
    }),
  );
  const [turn, next] = [points[at ?? -1], points[(at ?? -1) + 1]];
  if (at === -1 && next !== undefined) {
    const first = stepOf(next);
    return { vus: 0, p50: null, next: next.vus, stage: first ? grown(null, first.latency) : null };
  }
  if (at === null || turn === undefined || next === undefined) return null;
  const [from, to] = [turn, next].map(stepOf);
  const stage = from && to ? grown(from.latency, to.latency) : null;
  return { vus: turn.vus, p50: turn.arrival.p50, next: next.vus, stage };
}

/** A sentence for each sweep with its knee, and one for each but the baseline that says how far that is from the baseline's. */
export function turns(subjects: readonly Subject[]): string[] {
  const sweeps = subjects.filter((subject) => pointsOf(subject).length > 0);
  const [baseline, ...others] = sweeps;
  if (baseline === undefined || others.length === 0) return [];
  return [...sweeps.map(turn), ...others.map((subject) => apart(baseline, subject))];
}

function turn({ letter, knee: at, ...subject }: Subject): string {
  if (at === null) return `${letter} has no knee up to ${plural(pointsOf(subject).at(-1)?.vus ?? 0, 'VU')}.`;
  if (at.vus === 0) {
    const longest = at.stage === null ? '' : `, and ${at.stage} takes longest`;
    return `${letter}: knee below ${plural(at.next, 'VU')}: with ${count(at.next)} a backlog grows already${longest}.`;
  }
  const grew = at.stage === null ? '' : `, and ${at.stage} has grown most`;
  return `${letter}: knee at ${plural(at.vus, 'VU')}, arrival p50 ${msUnit(at.p50)} there; with ${count(at.next)} it has taken off for good${grew}.`;
}

function apart(baseline: Subject, subject: Subject): string {
  const [a, b] = [baseline.knee, subject.knee];
  const named = `${subject.letter} against ${baseline.letter}`;
  if (a === null && b === null) return `${named}: neither turns.`;
  if (a === null || b === null) return `${named}: only ${(a === null ? subject : baseline).letter} turns.`;
  const where =
    a.vus === b.vus
      ? 'both turn at the same step'
      : b.vus === 0 || a.vus === 0
        ? `turns ${b.vus === 0 ? 'earlier' : 'later'}`
        : `turns ${plural(Math.abs(a.vus - b.vus), 'VU')} ${b.vus < a.vus ? 'earlier' : 'later'}`;
  // Where the first of the two has taken off, the other one has not, or both have.
  const vus = Math.min(a.next, b.next);
  const [p, q] = [baseline, subject].map(
    (one) => pointsOf(one).find((point) => point.vus === vus)?.arrival.p50,
  );
  const there =
    p == null || q == null ? '' : `; with ${plural(vus, 'VU')} arrival p50 is ${msUnit(p)} → ${msUnit(q)}`;
  const stages =
    a.stage !== b.stage ? `; what grows is ${a.stage ?? 'not known'} → ${b.stage ?? 'not known'}` : '';
  return `${named}: ${where}${there}${stages}.`;
}
