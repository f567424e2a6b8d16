/** What `./k6 x arrival` does with runs: its --help says what it takes. */
import { join } from 'node:path';
import { execa } from 'execa';

const K6 = join(import.meta.dirname, '../k6');
/** As k6 says it where a threshold is crossed. */
const NOT_PASSED = 99;

/**
 * Makes one run of what its instances have left, and prints it.
 * @param out where the whole goes; undefined: the directory that its instances' are in
 * @returns whether the whole passes
 * @throws if there is no whole; what is wrong has been printed
 */
export async function merge(directories: readonly string[], out?: string): Promise<boolean> {
  const { exitCode } = await execa(K6, words('merge', directories, out), { stdio: 'inherit', reject: false });
  if (exitCode !== 0 && exitCode !== NOT_PASSED) throw new Error('the instances can not be merged');
  return exitCode === 0;
}

/**
 * Writes the page of a run from its run.json.
 * @param out where to; undefined: index.html beside it
 * @throws if that is no valid run
 */
export async function render(directory: string, out?: string): Promise<void> {
  const { exitCode, stderr } = await execa(K6, words('render', [directory], out), { reject: false });
  if (exitCode !== 0) throw new Error(stderr || `k6 x arrival render ended with ${exitCode}`);
}

function words(command: string, directories: readonly string[], out?: string): string[] {
  const to = out === undefined ? [] : ['--out', out];
  return ['x', 'arrival', command, '--log-format', 'raw', ...to, '--', ...directories];
}
