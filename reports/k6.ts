/** Commands of `./k6 x arrival` on runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Campaign } from './contract/run.ts';

const K6 = join(import.meta.dirname, '../k6');
/** k6's exit code for a crossed threshold. */
const NOT_PASSED = 99;

/**
 * Merges the runs of instances, and prints the result.
 * @param out the directory of the merged run; undefined: the parent of the instances'
 * @returns whether the merged run passes
 * @throws if they cannot be merged, after k6 has printed why
 */
export async function merge(directories: readonly string[], out?: string): Promise<boolean> {
  const { exitCode } = await execa(K6, words('merge', directories, out), { stdio: 'inherit', reject: false });
  if (exitCode !== 0 && exitCode !== NOT_PASSED) throw new Error('the instances cannot be merged');
  return exitCode === 0;
}

/**
 * Checks runs against thresholds. k6 makes their verdicts and rules as text, or says what is wrong.
 * @param thresholds what must hold besides the runs' own limits, like 'arrival.p99 < 250ms'
 * @returns with k6's exit code: 0 all pass, 99 a limit is broken, 2 one is undecided or was not judged, 1 nothing could be checked
 */
export async function check(directories: readonly string[], thresholds: readonly string[]) {
  const options = thresholds.flatMap((threshold) => ['--threshold', threshold]);
  const args = ['x', 'arrival', 'check', '--log-format', 'raw', ...options, '--', ...directories];
  const { exitCode, stdout, stderr } = await execa(K6, args, { reject: false, stripFinalNewline: false });
  if (exitCode === undefined) throw new Error('k6 x arrival check did not run to its end');
  return { code: exitCode, stdout, stderr };
}

/**
 * Writes the page of a run from its run.json.
 * @param out the file; undefined: index.html beside it
 * @throws if the run is not valid
 */
export async function render(directory: string, out?: string): Promise<void> {
  const { exitCode, stderr } = await execa(K6, words('render', [directory], out), { reject: false });
  if (exitCode !== 0) throw new Error(stderr || `k6 x arrival render ended with ${exitCode}`);
}

/** The file of a run that has written more than its report holds. */
export const LATEST = 'latest.json';

/**
 * Brings the report of a killed run up to what the run had written. A run in progress, and one that can't be changed, stays as it is.
 */
export async function recover(directory: string): Promise<void> {
  if (existsSync(join(directory, LATEST))) await execa(K6, words('recover', [directory]), { reject: false });
}

/**
 * Adds what a campaign found to a run, as if its script had measured it, and a sentence to its summary.md.
 * @throws if the run is not valid, or has a figure of that name
 */
export async function annotate(directory: string, found: Campaign, sentence: string): Promise<void> {
  const args = ['x', 'arrival', 'annotate', '--log-format', 'raw', '--figures', '-', '--sentence', sentence];
  const input = JSON.stringify(found);
  const { exitCode, stderr } = await execa(K6, [...args, '--', directory], { input, reject: false });
  if (exitCode !== 0) throw new Error(stderr || `k6 x arrival annotate ended with ${exitCode}`);
}

function words(command: string, directories: readonly string[], out?: string): string[] {
  const to = out === undefined ? [] : ['--out', out];
  return ['x', 'arrival', command, '--log-format', 'raw', ...to, '--', ...directories];
}
