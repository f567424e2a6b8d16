/**
 * How often a history without a change names one, as a table: node reports/history/test/coverage.ts [histories]
 * Each is looked at after each of its 100 runs; a change point is counted once. Then p99 rises by a fifth, and is found within 6 runs.
 */
import { mulberry32, normal } from '../../test/samples.ts';
import { type ChangePoint, lastChangePoint } from '../change-point.ts';

/** Logarithms of p99 by run, and of the times of the machine where they are known. */
export interface History {
  values: number[];
  times?: number[];
}

type Histories = (random: () => number, runs: number) => History;

/** How much runs of one build differ, and times of one machine. */
const NOISE = 0.05;
const TIMING = 0.02;

const correlated =
  (memory: number): Histories =>
  (random, runs) => {
    let state = normal(random);
    const values = Array.from({ length: runs }, () => {
      state = memory * state + Math.sqrt(1 - memory ** 2) * normal(random);
      return NOISE * state;
    });
    return { values };
  };

/** Runs come in batches of five, each on a machine that may be slower by 30 %. */
const twoSpeeds =
  (known: boolean): Histories =>
  (random, runs) => {
    let speed = 0;
    const speeds = Array.from({ length: runs }, (_, i) => {
      if (i % 5 === 0) speed = random() < 0.5 ? 0 : Math.log(1.3);
      return speed;
    });
    const values = speeds.map((slower) => slower + NOISE * normal(random));
    return { values, ...(known && { times: speeds.map((slower) => slower + TIMING * normal(random)) }) };
  };

export const HISTORIES: Record<string, Histories> = {
  independent: correlated(0),
  'correlated by 0.5': correlated(0.5),
  'two speeds in batches of five': twoSpeeds(true),
  'the same, times not known': twoSpeeds(false),
};

const RUNS = 100;
const LEAST = 10;
/** Places so near are one change point. */
const NEAR = 3;

/** A change that is neither said to be the machine's nor to lead back to a level of before. */
function changePointOf(
  { values, times }: History,
  runs: number,
  find: typeof lastChangePoint,
): ChangePoint | null {
  const of = (logs: number[]) => logs.slice(0, runs).map(Math.exp);
  const found = find(of(values), times && of(times));
  return found?.machine == null && found?.back === undefined ? found : null;
}

/** The change points that a history of 100 runs without one is said to have, on average. */
export function alarms(count: number, of: Histories, find = lastChangePoint): number {
  const random = mulberry32(11);
  let all = 0;
  for (let i = 0; i < count; i++) {
    const history = of(random, RUNS);
    const named: number[] = [];
    for (let runs = LEAST; runs <= RUNS; runs++) {
      const found = changePointOf(history, runs, find);
      if (found !== null && !named.some((at) => Math.abs(at - found.at) <= NEAR)) named.push(found.at);
    }
    all += named.length;
  }
  return all / count;
}

/** The share of changes by a fifth that are found within so many runs. */
export function found(count: number, of: Histories, within = 6): number {
  const random = mulberry32(12);
  const all = [12, 23, 42].flatMap((before) => Array.from({ length: count }, () => before));
  const seen = all.filter((before) => {
    const history = of(random, before + within);
    history.values = history.values.map((value, i) => (i < before ? value : value + Math.log(1.2)));
    return Array.from({ length: within }, (_, i) => before + i + 1).some((runs) => {
      const found = changePointOf(history, runs, lastChangePoint);
      return found !== null && Math.abs(found.at - before) <= NEAR;
    });
  });
  return seen.length / all.length;
}

if (import.meta.main) {
  const count = Number(process.argv[2] ?? 50);
  console.log('| history | change points in 100 runs without one | 20 %: found within 6 runs |');
  console.log('| --- | ---: | ---: |');
  for (const [name, of] of Object.entries(HISTORIES)) {
    console.log(`| ${name} | ${alarms(count, of).toFixed(2)} | ${(100 * found(count, of)).toFixed(0)} % |`);
  }
  console.log(`${count} histories each, ${3 * count} with a change after 12, 23 and 42 runs`);
}
