/** A run as it lies in its directory. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run } from '../run.ts';
import { validateRun } from '../validate.ts';
import { type Recorded, readHistograms } from './seconds.ts';

export interface Recording {
  run: Run;
  histograms: Recorded;
}

/** @throws an error of one line that names the file and what is wrong with it */
export async function readRecording(directory: string): Promise<Recording> {
  const run = await readRun(directory);
  return { run, histograms: await readHistograms(join(directory, 'arrival.hlog')) };
}

/** @throws an error of one line that names the file and what is wrong with it */
export async function readRun(directory: string): Promise<Run> {
  const path = join(directory, 'run.json');
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? `${path} does not exist` : `${path}: ${error.message}`);
  });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON: ${(error as Error).message}`);
  }
  const [first, ...more] = validateRun(data);
  if (first !== undefined) {
    throw new Error(`${path}: ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`);
  }
  return data as Run;
}
