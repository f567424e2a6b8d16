/** The directory of a run. */
import { constants as access, accessSync, existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import { moment, newDirectory, RUNS } from '../../reports/directory.ts';

/**
 * Does a run in the given directory, which has to be new or empty, or in a new one of this name below reports/runs/, which it removes
 * when it stays empty.
 */
export async function inRunDirectory<T>(
  asked: string | undefined,
  name: string,
  run: (runDir: string) => Promise<T>,
): Promise<T> {
  const there = asked && existsSync(asked);
  const own = asked ? emptyDirectory(resolve(asked)) : newDirectory(join(RUNS, name));
  try {
    return await run(own);
  } finally {
    if (!there && readdirSync(own).length === 0) rmdirSync(own);
  }
}

/** Makes a directory and its parents: mkdirSync with `recursive` does not return below /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path);
}

/** Makes the directory of RUN_DIR if it is missing. @returns its path */
function emptyDirectory(path: string): string {
  const refused = (why: string) =>
    new ConfigError(`RUN_DIR is ${shortPath(path)}, ${why}; allowed: a directory that is new or empty`);
  try {
    makeDirectory(path);
    accessSync(path, access.W_OK);
  } catch (error) {
    throw refused(`which cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  if (readdirSync(path).length > 0) throw refused('and there is something in it');
  return path;
}

/** `<method>-<topology>-<network>-<time>`, the directory below reports/runs/. */
export function runName(
  script: string,
  { TOPOLOGY, NETWORK }: { TOPOLOGY: string; NETWORK: string },
  now: Date,
): string {
  const method = basename(script).replace(/(\.artillery)?\.\w+$/, '');
  return `${method}-${TOPOLOGY}-${NETWORK}-${moment(now)}`;
}
