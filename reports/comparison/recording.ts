/** A run in its directory. */
import { existsSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type { Run } from '../contract/run.ts';
import { validateRun } from '../contract/validate.ts';
import { readJson, readText } from '../files.ts';
import { recover } from '../k6.ts';
import { parseHistograms, type Recorded } from './seconds.ts';

export interface Recording {
  run: Run;
  histograms: Recorded;
  /** The address of the run's page, relative to the comparison's. */
  page?: string;
}

/** Runs that are repeats of one another. */
export type Group = Recording[];

/**
 * @param name the name of the directory in an error
 * @throws an error of one line that names the file and what is wrong with it
 */
export async function readRecording(directory: string, name = directory): Promise<Recording> {
  const run = await readRun(directory, name);
  try {
    return { run, histograms: parseHistograms((await readText(directory, 'arrival.hlog')) ?? '') };
  } catch (error) {
    throw new Error(`${join(name, 'arrival.hlog')} is not a histogram log: ${(error as Error).message}`);
  }
}

/**
 * A recording with the address of its page, if there is one.
 * @param place the directory of the comparison's page
 */
export async function linkedFrom(place: string, directory: string): Promise<Recording> {
  const recording = await readRecording(directory);
  const page = join(directory, 'index.html');
  if (!existsSync(page)) return recording;
  const steps = relative(resolve(place), resolve(page)).split(sep);
  return { ...recording, page: steps.map(encodeURIComponent).join('/') };
}

/**
 * @param name the name of the directory in an error
 * @throws an error of one line that names the file and what is wrong with it
 */
export async function readRun(directory: string, name = directory): Promise<Run> {
  const path = join(name, 'run.json');
  await recover(directory);
  const data = await readJson(directory, 'run.json').catch((error: Error) => {
    throw new Error(join(name, error.message));
  });
  if (data === undefined) throw new Error(`${path} does not exist, or is not a file that can be read`);
  const [first, ...more] = validateRun(data);
  if (first !== undefined) {
    throw new Error(`${path}: ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`);
  }
  return data as Run;
}
