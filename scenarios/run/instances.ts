import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { ConfigError } from '../../pipeline/shared/config.ts';
import type { Ended, Generator } from '../../pipeline/stack/child.ts';
import { merge } from '../../reports/k6.ts';
import { type IO, warn } from './io.ts';
import { ABORTED, K6Run } from './k6.ts';
import type { Outputs } from './outputs.ts';

/** The most instances of a run. */
export const MOST = 32;

/** k6's exit code for a crossed threshold. */
const CROSSED = 99;

/** k6's line of a test that a signal ended. */
const SIGNALLED = /k6 received a '.*' signal/;

/** k6's flags for each of n instances with equal shares. The tag separates their metrics in one database. */
export function segmentsOf(n: number): string[][] {
  const limits = Array.from({ length: n + 1 }, (_, i) => (i === 0 ? '0' : i === n ? '1' : `${i}/${n}`));
  return Array.from({ length: n }, (_, i) => [
    '--execution-segment-sequence',
    limits.join(','),
    '--execution-segment',
    `${limits[i]}:${limits[i + 1]}`,
    '--tag',
    `generator=${i + 1}`,
  ]);
}

/** Throws where flags or variables say which part of a run a k6 has: several have all of it. */
export function refuseParts(args: readonly string[], env: NodeJS.ProcessEnv): void {
  const flag = args.find((arg) => arg.startsWith('--execution-segment'))?.replace(/=.*/s, '');
  const variables = ['INSTANCES', 'INSTANCE', 'K6_EXECUTION_SEGMENT', 'K6_EXECUTION_SEGMENT_SEQUENCE'];
  const part = flag ?? variables.find((name) => env[name]);
  if (part !== undefined)
    throw new ConfigError(`${part} is set, and --instances divides the load: leave out one of them`);
}

/** A run id for all instances, in the form of k6's extension. */
export function newRunId(): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Several k6 on this host that share one run, as several hosts would. */
export class Instances implements Generator {
  readonly #runs: K6Run[];
  /** Resolves when all have ended: the first code that is not 0, or that of the one whose limit ended all, and the signal that ended one. */
  readonly ended: Promise<Ended>;

  /** @param each the flags and variables of each */
  constructor(
    script: string,
    env: NodeJS.ProcessEnv,
    each: readonly Pick<Outputs, 'args' | 'env'>[],
    io: Pick<IO, 'stderr'>,
  ) {
    const own = { ...env, RUN_ID: env.RUN_ID || newRunId() };
    const printed = new Set<string>(); // an error of several instances is printed once
    let aborted = false;
    const print = (line: string, from: number) => {
      if (aborted && SIGNALLED.test(line)) return;
      if (!aborted && ABORTED.test(line)) {
        aborted = true;
        this.#runs.forEach((run, i) => {
          if (i !== from) run.signal('SIGINT'); // that one is about to end
        });
      }
      if (!printed.has(line)) warn(io, line);
      printed.add(line);
    };
    // All would take the same port for k6's API.
    const flags = ['--log-format', 'raw', '--address', ''];
    this.#runs = segmentsOf(each.length).map((segment, i) => {
      const { args = [], env: outputs } = each[i] ?? {};
      const flagsOfIt = [...flags, ...segment, ...args];
      return new K6Run(script, flagsOfIt, { ...own, ...outputs }, 'errors', [], (line) => print(line, i));
    });
    this.ended = Promise.all(this.#runs.map((run) => run.ended)).then((ends) => ({
      code: aborted ? CROSSED : (ends.find(({ code }) => code !== 0)?.code ?? 0),
      signal: ends.find(({ signal }) => signal !== null && !(aborted && signal === 'SIGINT'))?.signal ?? null,
    }));
  }

  signal(signal: NodeJS.Signals): void {
    for (const run of this.#runs) run.signal(signal);
  }
}

/** Merges the instances' runs, and prints the result. @returns whether it passes; false without runs */
export async function mergeInstances(runDir: string): Promise<boolean> {
  return (await readdir(runDir)).length > 0 && merge([runDir]);
}
