/** `npm run report -- merge`: one run's directory of those of its instances. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { junit, summary } from '../ci.ts';
import { readRun } from '../comparison/recording.ts';
import { OF_GENERATOR, readText } from '../files.ts';
import { renderReport } from '../render.ts';
import type { Run } from '../run.ts';
import { mergeRuns } from './merge.ts';
import { type Part, partOf } from './parts.ts';

/** The directories of a run's instances: the one that is given, or those that are in it. One that has left no report is missing. */
async function generatorsIn(directory: string): Promise<string[]> {
  const inside = await readdir(directory, { withFileTypes: true });
  const found = inside
    .filter((one) => one.isDirectory() && OF_GENERATOR.test(one.name))
    .map(({ name }) => join(directory, name))
    .filter((one) => existsSync(join(one, 'run.json')));
  return found.length > 0 ? found : [directory];
}

/**
 * Reads the parts, merges them, and writes the files that every run leaves.
 * @param given directories of instances, or of runs whose instances have theirs in it
 * @param out where to; undefined: the directory that all of them are in
 * @param template the page's
 * @returns the directory and the run
 * @throws an error of one line that names the file or the generator and what is wrong
 */
export async function mergeDirectories(
  given: readonly string[],
  out: string | undefined,
  template: string,
): Promise<{ directory: string; run: Run }> {
  const directories = [
    ...new Set((await Promise.all(given.map(generatorsIn))).flat().map((one) => resolve(one))),
  ];
  const parts = await Promise.all(directories.map(readPart));
  const directory = out ?? commonOf(directories);
  const { run, log } = mergeRuns(parts, basename(resolve(directory)));
  await mkdir(directory, { recursive: true });
  const files: Record<string, string> = {
    'arrival.hlog': log,
    'timeline.ndjson': run.timeline.map((second) => `${JSON.stringify(second)}\n`).join(''),
    'junit.xml': junit(run),
    'summary.md': summary(run),
    'index.html': renderReport(run, template),
    'run.json': `${JSON.stringify(run)}\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const file = join(directory, name);
    await writeFile(`${file}.next`, text);
    await rename(`${file}.next`, file);
  }
  return { directory, run };
}

async function readPart(directory: string): Promise<Part> {
  const run = await readRun(directory);
  return partOf(run, (await readText(directory, 'arrival.hlog')) ?? '', directory);
}

/** @throws if the parts lie in different directories, so that it is not known where the whole belongs */
function commonOf(directories: readonly string[]): string {
  const [first, ...others] = directories.map((one) => dirname(one));
  if (first === undefined) throw new Error('there is nothing to merge');
  if (
    others.some((other) => other !== first) ||
    !directories.every((one) => OF_GENERATOR.test(basename(one)))
  ) {
    throw new Error('the parts do not lie in one directory of their run: --out says where the whole goes');
  }
  return first;
}
