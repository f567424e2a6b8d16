/**
 * How often single runs get a false word, as a table: node reports/comparison/test/coverage.ts [pairs]
 * Pairs of simulated runs of a process do not differ; each word worse or better is false. Then the second run is slower, and each word
 * worse is found. truth.unit.test.ts asserts the same of fewer pairs.
 */
import type { Difference } from '../comparison.ts';
import { differenceOf } from '../differences.ts';
import { type Measure, measureOf } from '../measures.ts';
import { PROCESSES } from './processes.ts';
import { simulated, type Truth } from './simulated.ts';

export const MEASURES = ['arrival.mean', 'arrival.p50', 'arrival.p99', 'arrival.p999', 'arrival.within(3ms)'];
const SLOWER = 0.2;
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

if (import.meta.main) {
  const pairs = Number(process.argv[2] ?? 200);
  const percent = (of: number) => `${(100 * of).toFixed(1)} %`;
  const print = (...cells: string[]) => console.log(`| ${cells.join(' | ')} |`);
  const names = MEASURES.map((name) => name.replace(/^arrival\./, '').replace('p999', 'p99.9'));
  print(
    'process',
    ...names.map((name) => `false: ${name}`),
    ...['mean', 'p99', 'p99.9'].map((name) => `found: ${name}`),
  );
  print('---', ...Array.from({ length: 3 + MEASURES.length }, () => '---:'));
  for (const [name, of] of Object.entries(PROCESSES)) {
    const truth = { seconds: SECONDS, samples: 100, process: of };
    const same = differencesOf(pairs, 0, truth).map((all) => share(all, 'worse', 'better'));
    const found = differencesOf(pairs / 2, SLOWER, truth).map((all) => share(all, 'worse'));
    print(name, ...same.map(percent), ...[0, 2, 3].map((k) => percent(found[k] as number)));
  }
  console.log(
    `${SECONDS} s, ${pairs} pairs each without a difference, ${pairs / 2} with one of ${SLOWER * 100} %`,
  );
}
