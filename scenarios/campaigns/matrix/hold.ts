/** The highest rate that a cell of the matrix holds. */
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../../../reports/contract/run.ts';
import { type IO, print } from '../../run/io.ts';
import { requests } from '../capacity/answer.ts';
import { judge } from '../capacity/judge.ts';
import { type Outcome, search, tried } from '../capacity/search.ts';

/** The gap between the rate that held and the one that did not, as a share. */
const PRECISION = 0.1;

interface HoldOptions {
  /** The first rate to try, and the highest. */
  start: number;
  bound: number;
  /** The directory of the run that held the rate, or of the first one if none did. */
  runDir: string;
  /** Runs a rate, in a directory. */
  generate: (runDir: string, rate: number) => Promise<Run>;
  io: IO;
}

/** @returns the rate (0: none), whether more might hold, as no higher rate was tried, and the run */
export async function highestHeld(options: HoldOptions): Promise<{ rate: number; least: boolean; run: Run }> {
  const { start, bound, runDir, generate, io } = options;
  const probe = join(runDir, 'probe');
  let best: Run | undefined;
  const attempt = async (rate: number): Promise<Outcome> => {
    const run = await generate(probe, rate);
    const { outcome, why } = judge(run);
    if (outcome === 'held' || best === undefined) {
      best = run;
      for (const file of await readdir(probe)) await rename(join(probe, file), join(runDir, file));
    }
    await rm(probe, { recursive: true, force: true });
    print(io, `${requests(rate).padStart(25)}  ${outcome}${why === '' ? '' : `: ${why}`}`);
    return outcome;
  };
  const { held } = await search(
    { start: Math.min(start, bound), lowest: 1, highest: bound, precision: PRECISION },
    (rate) =>
      tried(
        () => attempt(rate),
        () => true,
      ),
    () => true,
  );
  return { rate: held, least: held === bound, run: best as Run };
}
