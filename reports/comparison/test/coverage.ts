/**
 * How often the intervals of single runs exclude the truth, as a table: node reports/comparison/test/coverage.ts [pairs]
 * Pairs of simulated runs do not differ; each word worse or better is false. Then the second run is slower, and each word worse is
 * found. The autocorrelation of the seconds' medians is the memory.
 */
import { differenceOf } from '../differences.ts';
import { type Measure, measureOf } from '../measures.ts';
import { simulated } from './simulated.ts';

const MEASURES = ['arrival.mean', 'arrival.p50', 'arrival.p99', 'arrival.within(3ms)'];
const PAIRS = Number(process.argv[2] ?? 400);
const SLOWER = 0.2;

const print = (...cells: string[]) => console.log(`| ${cells.join(' | ')} |`);
print('seconds', 'memory', 'false words', 'no interval', `${SLOWER * 100} % slower: found`);
print('---:', '---:', '---:', '---:', '---:');
for (const seconds of [60, 120, 600]) {
  for (const memory of [0, 0.6, 0.8, 0.9]) {
    const [same, slower] = [0, SLOWER].map((shift) => differences(seconds, memory, shift));
    const share = (of: typeof same, counts: (one: NonNullable<typeof same>[number]) => boolean) =>
      `${((100 * (of ?? []).filter(counts).length) / (of ?? []).length).toFixed(1)} %`;
    print(
      `${seconds}`,
      `${memory}`,
      share(same, ({ word }) => word === 'worse' || word === 'better'),
      share(same, ({ interval }) => interval === null),
      share(slower, ({ word }) => word === 'worse'),
    );
  }
}
console.log(`${PAIRS} pairs each, ${MEASURES.join(', ')}`);

function differences(seconds: number, memory: number, shift: number) {
  return Array.from({ length: PAIRS }, (_, i) => {
    const truth = { seconds, memory, samples: 60 };
    const base = simulated({ ...truth, seed: 2 * i });
    const other = simulated({ ...truth, seed: 2 * i + 1, median: 2 * (1 + shift) });
    return MEASURES.flatMap((name) => differenceOf([base], [other], measureOf(name) as Measure) ?? []);
  }).flat();
}
