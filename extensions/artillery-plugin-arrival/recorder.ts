/** Finds the recorder: a k6 with the arrival extension. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { OptionError } from './pipeline.ts';
import { IN_REPOSITORY, ROOT } from './place.ts';

/** The Go module for `xk6 build --with`. */
export const MODULE = 'github.com/arrival-bench/arrival/extensions/k6';
/** The recorder's npm package for this platform. */
export const PACKAGE = `@arrival-bench/k6-${process.platform}-${process.arch}`;

const GET_ONE = IN_REPOSITORY
  ? 'npm run setup builds ./k6'
  : `npm install ${PACKAGE}, or set ARRIVAL_K6 to the result of xk6 build --with ${MODULE}`;

/**
 * Takes ARRIVAL_K6, else the first k6 with the extension: in the folder, in the package of this platform, in PATH.
 * @param root the repository, or the folder in which Artillery was started
 * @param from a file, whose packages are searched
 * @throws {OptionError} if there is none, or one does not run
 */
export function findRecorder(env: NodeJS.ProcessEnv, root = ROOT, from = import.meta.url): string {
  const { ARRIVAL_K6: given, PATH = '' } = env;
  if (given) {
    if (hasArrival(given)) return given;
    throw new OptionError(`ARRIVAL_K6 is ${given}, which has no arrival extension; ${GET_ONE}`);
  }
  const inPath = PATH.split(delimiter).map((folder) => resolve(folder, 'k6'));
  const found = [join(root, 'k6'), ...packaged(from), ...inPath].find(
    (file) => existsSync(file) && hasArrival(file),
  );
  if (found !== undefined) return found;
  throw new OptionError(
    `no k6 with the arrival extension in ARRIVAL_K6, ${root}, ${PACKAGE} or PATH; ${GET_ONE}`,
  );
}

function packaged(from: string): string[] {
  try {
    return [createRequire(from).resolve(`${PACKAGE}/k6`)];
  } catch {
    return [];
  }
}

/** Whether `k6 version` lists the subcommand. */
function hasArrival(file: string): boolean {
  const env = { ...process.env, K6_AUTO_EXTENSION_RESOLUTION: 'false' };
  const { error, status, stdout, stderr } = spawnSync(file, ['version'], { env, encoding: 'utf8' });
  if (status === 0) return /\barrival \[subcommand\]/.test(stdout);
  const why = error?.message ?? (stderr.trim().split('\n').at(-1) || `the exit code ${status}`);
  throw new OptionError(`the recorder ${file} does not run: ${why}; ${GET_ONE}`);
}
