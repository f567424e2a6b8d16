/** The parts of a run that several instances have done together: whether they are of one run, and which of them are there. */
import type { Generator, Run } from '../run.ts';

/** The record of one instance. */
export interface Part {
  run: Run;
  generator: Generator;
  /** Its histogram log, arrival.hlog; empty: it has none. */
  log: string;
}

/** A part that did not reach its end has no `ended`. */
export function isWhole({ run }: Part): boolean {
  return run.run.ended !== null;
}

/**
 * @param run what an instance has left
 * @param from names it in the error
 * @throws if it is no part of a run
 */
export function partOf(run: Run, log: string, from: string): Part {
  const { generator } = run.run;
  if (!generator) {
    const what = run.generators ? 'has been merged already' : 'is a run of one instance';
    throw new Error(`${from} ${what}; merge takes what each instance of a run by segments has left`);
  }
  return { run, generator, log };
}

/**
 * In the order of their numbers.
 * @throws an error of one line if they are not of one run, or one is there twice
 */
export function ordered(parts: readonly Part[]): [Part, ...Part[]] {
  const sorted = [...parts].sort((a, b) => a.generator.number - b.generator.number);
  const [first, ...others] = sorted;
  if (first === undefined) throw new Error('there is nothing to merge');
  for (const [i, other] of others.entries()) {
    const who = `generator ${other.generator.number}`;
    const before = sorted[i] as Part;
    if (other.generator.number === before.generator.number) throw new Error(`${who} is there twice`);
    for (const [what, of] of SAME) {
      const [mine, its] = [of(first), of(other)];
      if (mine !== its) {
        const known = mine.length + its.length < 100 ? ` (${its}, not ${mine})` : '';
        throw new Error(`${who} has another ${what} than generator ${first.generator.number}${known}`);
      }
    }
  }
  return [first, ...others];
}

/** What the parts of one run have in common. The start is that on the clock of Redis: with it the seconds of all are the same. */
const SAME: [what: string, of: (part: Part) => string][] = [
  ['run', ({ run }) => run.run.id],
  ['sequence of segments', ({ generator }) => generator.sequence],
  ['start', ({ generator }) => `${generator.start_us}`],
  ['profile', ({ run }) => JSON.stringify(run.run.profile)],
  ['method', ({ run }) => run.run.method],
  ['version of k6', ({ run }) => run.run.tool.version ?? ''],
];

/** Number and segment of those that are not there. */
export function missing(parts: readonly [Part, ...Part[]]): { number: number; segment: string }[] {
  const { of, sequence } = parts[0].generator;
  const limits = sequence.split(',');
  const there = new Set(parts.map(({ generator }) => generator.number));
  return Array.from({ length: of }, (_, i) => ({
    number: i + 1,
    segment: `${limits[i] ?? '?'}:${limits[i + 1] ?? '?'}`,
  })).filter(({ number }) => !there.has(number));
}

/** Requests of an open profile, as the pacer counts them; null in the closed model, where nobody knows beforehand. */
export function requestsOf({ model, profile }: Run['run']): number | null {
  if (model === 'closed') return null;
  const all = profile.phases.reduce((sum, { duration_s, arrival_rate, ramp_to }) => {
    const from = arrival_rate ?? 0;
    return sum + ((from + (ramp_to ?? from)) / 2) * duration_s;
  }, 0);
  return Math.ceil(all - Math.min(1e-9 * Math.max(1, all), 1e-3));
}
