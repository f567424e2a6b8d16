import { join } from 'node:path';
import { execa } from 'execa';

/**
 * Makes one run of what its instances have left, and prints it: `./k6 x arrival merge`, whose --help says what it takes.
 * @param out where the whole goes; undefined: the directory that its instances' are in
 * @returns whether the whole passes
 * @throws if there is no whole; what is wrong has been printed
 */
export async function merge(directories: readonly string[], out?: string): Promise<boolean> {
  const k6 = join(import.meta.dirname, '../k6');
  const to = out === undefined ? [] : ['--out', out];
  const args = ['x', 'arrival', 'merge', '--log-format', 'raw', ...to, '--', ...directories];
  const { exitCode } = await execa(k6, args, { stdio: 'inherit', reject: false });
  if (exitCode !== 0 && exitCode !== NOT_PASSED) throw new Error('the instances can not be merged');
  return exitCode === 0;
}

/** As k6 says it where a threshold is crossed. */
const NOT_PASSED = 99;
