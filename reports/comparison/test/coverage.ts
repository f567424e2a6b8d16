/**
 * How often single runs get a false word, as a table: node reports/comparison/test/coverage.ts [pairs]
 * Pairs of simulated runs of a process do not differ; each word worse or better is false. Then the second run is slower, and each word
 * worse is found. truth.unit.test.ts asserts the same of fewer pairs.
 * What repeats gain, as a table: node reports/comparison/test/coverage.ts [pairs] repeats
 * The same of runs beside other work, where the second run is three times as slow: node reports/comparison/test/coverage.ts [pairs] others
 */
import type { Difference } from '../comparison.ts';
import { differenceOf } from '../differences.ts';
import { type Measure, measureOf } from '../measures.ts';
import type { Recording } from '../recording.ts';
import { BESIDE_OTHERS, PROCESSES } from './processes.ts';
import { simulated, type Truth } from './simulated.ts';

export const MEASURES = ['arrival.mean', 'arrival.p50', 'arrival.p99', 'arrival.p999', 'arrival.within(3ms)'];
const SLOWER = 0.2;
/** Beside other work. */
const MUCH_SLOWER = 2;
const SECONDS = 120;

/** The differences of pairs of runs, by measure; the second run is slower by a share. @param from the number of the first pair */
export function differencesOf(
  pairs: number,
  shift: number,
  truth: Omit<Truth, 'seed'>,
  from = 0,
): Difference[][] {
  const all = Array.from({ length: pairs }, (_, i) => {
    const base = simulated({ ...truth, seed: 2 * (from + i) });
    const other = simulated({ ...truth, seed: 2 * (from + i) + 1, median: 2 * (1 + shift) });
    return MEASURES.map((name) => differenceOf([base], [other], measureOf(name) as Measure) as Difference);
  });
  return MEASURES.map((_, k) => all.map((differences) => differences[k] as Difference));
}

/** The share of differences with one of the words. */
export function share(all: readonly Difference[], ...words: Difference['word'][]): number {
  return all.filter(({ word }) => words.includes(word)).length / all.length;
}

/** Undecided differences of pairs that differ, and how many of them were decided by as many repeats as were said. */
export interface Promises {
  undecided: number;
  /** It was said how many more runs would decide them. */
  promised: number;
  /** So many did. */
  kept: number;
  /** More runs that were said, on average. */
  more: number;
  /** It was said that no number of runs would. */
  never: number;
  /** It was not known, and three runs of each did decide them. */
  byThree: number;
}

/** The first pair that the rules on repeats were not chosen with. */
const FRESH = 5_000;

/** What repeats of pairs gain whose second run is slower by a share, its waits too. */
export function promisesOf(pairs: number, shift: number, truth: Omit<Truth, 'seed'>): Promises {
  const all: Promises = { undecided: 0, promised: 0, kept: 0, more: 0, never: 0, byThree: 0 };
  for (let i = 0; i < pairs; i++) {
    const sides = [0, shift].map((slower, side) => {
      const runs: Recording[] = [];
      return (count: number) => {
        while (runs.length < count) {
          const seed = 2 * (FRESH + i + 10_000 * runs.length) + side;
          runs.push(simulated({ ...truth, seed, scale: 1 + slower }));
        }
        return runs.slice(0, count);
      };
    });
    const after = (runs: number, name: string) => {
      const [base = [], other = []] = sides.map((side) => side(runs));
      return differenceOf(base, other, measureOf(name) as Measure) as Difference;
    };
    for (const name of MEASURES) {
      const { word, more } = after(1, name);
      if (word !== 'undecided') continue;
      const isDecided = (runs: number) => after(runs, name).word !== 'undecided';
      all.undecided++;
      if (more === 0) all.never++;
      else if (more === undefined) all.byThree += Number(isDecided(3));
      else {
        all.promised++;
        all.more += more;
        all.kept += Number(isDecided(1 + more));
      }
    }
  }
  return { ...all, more: all.more / all.promised };
}

const percent = (of: number) => (Number.isNaN(of) ? '' : `${(100 * of).toFixed(1)} %`);
const print = (...cells: string[]) => console.log(`| ${cells.join(' | ')} |`);

function printRepeats(pairs: number): void {
  print(
    'process',
    'undecided',
    'runs said',
    'of these decided',
    'more runs',
    'never',
    'else: decided by three',
  );
  print('---', ...Array.from({ length: 6 }, () => '---:'));
  for (const [name, of] of Object.entries(PROCESSES)) {
    const truth = { seconds: SECONDS, samples: 100, process: of };
    const { undecided, promised, kept, more, never, byThree } = promisesOf(pairs, SLOWER, truth);
    const all = pairs * MEASURES.length;
    print(
      name,
      ...[undecided / all, promised / undecided, kept / promised].map(percent),
      Number.isNaN(more) ? '' : more.toFixed(1),
      ...[never / undecided, byThree / (undecided - promised - never)].map(percent),
    );
  }
  console.log(`${SECONDS} s, ${pairs} pairs each with a difference of ${SLOWER * 100} %`);
}

function printWords(pairs: number, processes: typeof PROCESSES, slower: number): void {
  const names = MEASURES.map((name) => name.replace(/^arrival\./, '').replace('p999', 'p99.9'));
  print(
    'process',
    ...names.map((name) => `false: ${name}`),
    ...['mean', 'p99', 'p99.9'].map((name) => `found: ${name}`),
  );
  print('---', ...Array.from({ length: 3 + MEASURES.length }, () => '---:'));
  for (const [name, of] of Object.entries(processes)) {
    const truth = { seconds: SECONDS, samples: 100, process: of };
    const same = differencesOf(pairs, 0, truth).map((all) => share(all, 'worse', 'better'));
    const found = differencesOf(pairs / 2, slower, truth).map((all) => share(all, 'worse'));
    print(name, ...same.map(percent), ...[0, 2, 3].map((k) => percent(found[k] as number)));
  }
  console.log(
    `${SECONDS} s, ${pairs} pairs each without a difference, ${pairs / 2} with one of ${slower * 100} %`,
  );
}

if (import.meta.main) {
  const pairs = Number(process.argv[2] ?? 200);
  if (process.argv[3] === 'repeats') printRepeats(pairs);
  else if (process.argv[3] === 'others') printWords(pairs, BESIDE_OTHERS, MUCH_SLOWER);
  else printWords(pairs, PROCESSES, SLOWER);
}
