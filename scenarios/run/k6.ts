import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { onItsCpus, readAffinity } from '../../pipeline/stack/affinity.ts';
import { Child, type Ended } from '../../pipeline/stack/child.ts';

const ROOT = join(import.meta.dirname, '../..');
export const K6 = join(ROOT, 'k6');

/** What the project's own k6 is always run with: no download of extensions, no report to its makers. */
export const QUIET = { K6_AUTO_EXTENSION_RESOLUTION: 'false', K6_NO_USAGE_REPORT: 'true' };

/**
 * Runs the script's init context, which does no I/O, and rejects in one line with what it says is wrong: a
 * profile that makes no sense is told before anything is started.
 * @param segment k6's flags of one of several instances
 * @returns whether it is one of k6/x/arrival, which says how far it is; of one of several instances that is not looked for
 */
export async function checkScript(
  script: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  segment: readonly string[] = [],
): Promise<boolean> {
  await access(K6).catch(() => {
    throw new Error('./k6 is not built: npm run setup builds it');
  });
  // k6 takes an address or `-` too, and tells of a file that is missing in a paragraph.
  if (script !== '-' && !script.includes('://') && !existsSync(script)) {
    throw new Error(`there is no scenario ${script}; allowed: a file, such as scenarios/ramp.js`);
  }
  const flags = ['--include-system-env-vars', '--log-format', 'raw', '--no-color', ...environmentArgs(args)];
  // `k6 inspect` knows no segments, and `k6 archive` does.
  const looking = segment.length > 0 ? ['archive', '-O', devNull, ...segment] : ['inspect'];
  const { exitCode, stdout, stderr } = await execa(K6, [...looking, ...flags, script], {
    env: { ...env, ...QUIET },
    reject: false,
  });
  if (exitCode !== 0) throw new Error(firstProblem(stderr) || `k6 cannot read ${script}`);
  return /"exec":\s*"subscriber"/.test(stdout);
}

/** The part of k6's words that says what is wrong: no stack trace, no JavaScript or Go dressing. */
export function firstProblem(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return (lines[0] ?? '').replace(/^(\w*Error: |GoError: )+/, '').trim();
}

/** `k6 inspect` knows only some of the flags of `k6 run`: those that set variables matter here. */
export function environmentArgs(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (arg === '-e' || arg === '--env') return args[i + 1] === undefined ? [] : [arg, args[i + 1] as string];
    return /^(--env=|-e.)/.test(arg) ? [arg] : [];
  });
}

/** The flags of a command that passes variables on to its script, and knows no other. Throws when there is one. */
export function onlyEnvironmentArgs(args: readonly string[]): string[] {
  const variables = environmentArgs(args);
  const extra = args.find((arg) => !variables.includes(arg));
  if (extra !== undefined) throw new Error(`${extra} is not known; allowed: -e NAME=value, --help`);
  return variables;
}

/** The variables that the script is given: those of the environment, and in front of them what flags set. */
export function variablesOf(args: readonly string[]): NodeJS.ProcessEnv {
  const given = environmentArgs(args)
    .filter((arg) => arg !== '-e' && arg !== '--env')
    .map((arg) => arg.replace(/^(--env=|-e)/, ''));
  return { ...process.env, ...Object.fromEntries(given.map((text) => text.split(/=(.*)/s, 2))) };
}

/** k6's exit codes of a run that came to its end: it passed, a threshold was crossed, or the run failed where k6 judged no threshold. */
const ENDED = [0, 99, 110];

/** Whether a run came to its end, whatever its verdict. */
export function cameToItsEnd({ code, signal }: Ended): boolean {
  return signal === null && code !== null && ENDED.includes(code);
}

/** A `k6 run` in the terminal. */
export class K6Run extends Child {
  /**
   * @param quiet only what goes wrong is told, a crossed threshold apart.
   * @param within a command that runs k6 in another place, like a network namespace, and becomes it.
   * @param tell of what goes wrong
   */
  constructor(
    script: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    quiet = false,
    within: readonly string[] = [],
    tell: (line: string) => void = console.error,
  ) {
    const pinned = onItsCpus(readAffinity(env.CPU_AFFINITY), 'k6');
    super([...within, ...pinned, K6, 'run', ...(quiet ? ['-q'] : []), ...args, script], {
      stdio: ['inherit', quiet ? 'ignore' : 'inherit', quiet ? 'pipe' : 'inherit'],
      // Go's collector at its default costs k6 an eighth of its CPU.
      env: { GOGC: '400', ...env, ...QUIET },
    });
    if (this.child.stderr) {
      createInterface({ input: this.child.stderr }).on('line', (line) => {
        if (!/thresholds on metrics|marked as failed/.test(line)) tell(line);
      });
    }
  }
}
