/** The directories of runs and comparisons. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of both. The image's is in the folder that its user mounts. */
const { ARRIVAL_REPORTS: REPORTS = import.meta.dirname } = process.env;
export const RUNS = join(REPORTS, 'runs');
export const COMPARISONS = join(REPORTS, 'comparisons');

/** A moment for names: UTC, `20261121T094800Z`. */
export function moment(time = new Date()): string {
  return time.toISOString().replace(/[-:]|\.\d+/g, '');
}

/**
 * Makes a new directory; adds `-2`, `-3`, … when the name is taken.
 * @returns its path
 */
export function newDirectory(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  for (let n = 1; ; n++) {
    const own = n === 1 ? path : `${path}-${n}`;
    try {
      mkdirSync(own);
      return own;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
