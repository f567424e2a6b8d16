import { existsSync, statSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { devNull } from 'node:os';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { like } from '../../pipeline/shared/flags.ts';
import { onItsCpus, readAffinity } from '../../pipeline/stack/affinity.ts';
import { Child, type Ended } from '../../pipeline/stack/child.ts';
import { FEW_COLLECTIONS, K6, QUIET } from '../../pipeline/stack/k6.ts';
import { ownOnly } from '../lib/declarations.js';

/** Addresses for the check of a script, before the pipeline has any. Nothing connects to them. */
export const ADDRESSES = {
  INGEST_URL: 'http://127.0.0.1:1',
  MQTT_URL: 'mqtt://127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:1',
  BROKER_URL: 'mqtt://127.0.0.1:1',
  QUEUE_URL: 'redis://127.0.0.1:1',
};

/**
 * The addresses of the pipeline that is started for a script. A pipeline of the user's own has those that
 * are set, and no others; the one that is started delivers by MQTT.
 */
export function addressesOf(script: string, { INGEST_URL, ARRIVE }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const named = basename(script).replace(/\.[jt]s$/, '');
  const ours = !INGEST_URL && !ownOnly.includes(named) && ['', 'mqtt'].includes(ARRIVE ?? '');
  return ours ? ADDRESSES : {};
}

/** Reports whether a script can be read, as far as its path says. */
export const isThere = (script: string) => existsSync(script) && !statSync(script).isDirectory();

/**
 * Runs the script's init context, which does no I/O, and rejects in one line with its error: a wrong profile is reported
 * before anything starts.
 * @param segment k6's flags of one of several instances
 * @returns whether it uses k6/x/arrival, which reports its progress
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
  // k6 also takes a URL or `-`, and reports a missing file in a paragraph.
  if (script !== '-' && !script.includes('://') && !isThere(script)) {
    throw new Error(`there is no scenario ${script}; allowed: a file, such as scenarios/ramp.js`);
  }
  await checkFlags(args);
  const flags = ['--include-system-env-vars', '--log-format', 'raw', '--no-color'];
  const look = async (command: readonly string[]) => {
    const { exitCode, stdout, stderr } = await execa(K6, [...command, ...flags, script], {
      env: { ...env, ...QUIET },
      reject: false,
    });
    if (exitCode !== 0) throw new Error(firstProblem(stderr) || `k6 cannot read ${script}`);
    return stdout;
  };
  // `k6 inspect` takes no segments; `k6 archive` does, and prints nothing.
  if (segment.length > 0) await look(['archive', '-O', devNull, ...segment]);
  const isArrival = /"exec":\s*"subscriber"/.test(await look(['inspect']));
  const replaces = isArrival ? replacing(args, env) : undefined;
  if (replaces !== undefined)
    throw new ConfigError(
      `${replaces} would replace the scenarios of ${script}, one of which receives; allowed: the settings of the script, which --help lists`,
    );
  return isArrival;
}

/** Names a flag or variable with which k6 replaces the scenarios of a script; undefined: there is none. */
function replacing(args: readonly string[], env: NodeJS.ProcessEnv): string | undefined {
  const flags = args.flatMap(
    (arg) => /^(?:--(?:vus|duration|iterations|stage)(?==|$)|-[udis](?!-))/.exec(arg) ?? [],
  );
  return flags[0] ?? ['K6_VUS', 'K6_DURATION', 'K6_ITERATIONS', 'K6_STAGES'].find((name) => env[name]);
}

/** The error in k6's output, without stack trace and prefixes. */
export function firstProblem(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return (lines[0] ?? '').replace(/^(\w*Error: |GoError: )+/, '').trim();
}

/**
 * Lets k6 check its flags. With three surplus arguments k6 parses the flags and then only reports the number of arguments.
 * 0 is a number and a duration, so a flag without a value takes one of them.
 * @throws the error in one line
 */
async function checkFlags(args: readonly string[]): Promise<void> {
  const { stderr } = await execa(K6, ['run', ...args, ...'000'], { env: QUIET, reject: false });
  const words = Number(/received (\d+):/.exec(stderr)?.[1]);
  if (words === 3) return;
  const allowed = "allowed: -e NAME=value, and k6's own flags, which ./k6 run --help lists";
  if (words < 3) throw new ConfigError(`${args.at(-1)} has no value; ${allowed}`);
  if (words > 3) {
    const behind = (i: number) => args[i - 1] ?? '';
    const word = args.find(
      (arg, i) =>
        !/^(-e|--env|--tag)$/.test(behind(i)) &&
        (/^\w+=/.test(arg) || !(arg.startsWith('-') || behind(i).startsWith('-'))),
    );
    throw new ConfigError(`${word ?? 'a word'} has no flag before it; ${allowed}`);
  }
  const { stdout: help } = await execa(K6, ['run', '--help'], { env: QUIET, reject: false });
  const [, flag] = /unknown flag: (--[^"]*)/.exec(stderr) ?? [];
  const [, problem = firstProblem(stderr)] = /msg="((?:[^"\\]|\\.)*)"/.exec(stderr) ?? [];
  const text = problem.replaceAll('\\"', '"');
  if (flag === undefined && !/\b(flag|argument)\b/.test(text)) throw new Error(text); // such as the error of a stale k6
  throw new ConfigError(
    flag === undefined
      ? `${text}; ${allowed}`
      : `${flag} is not known${like(flag, help.match(/--[a-z-]+/g) ?? [])}; ${allowed}`,
  );
}

/** The variables that flags of a command set, as NAME=value. */
export function assignmentsOf(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    if (arg === '-e' || arg === '--env') return args.slice(i + 1, i + 2);
    const [, text] = /^(?:--env=|-e)(.+)/s.exec(arg) ?? [];
    return text === undefined ? [] : [text];
  });
}

/**
 * Takes a flag of ours, `--flag value` or `--flag=value`, from those that k6 gets. undefined: it is not given; empty: it has no value.
 * @throws {ConfigError} if it is given twice
 */
export function takeFlag(flag: string, args: readonly string[]): { value?: string; args: string[] } {
  const is = (arg: string) => arg === flag || arg.startsWith(`${flag}=`);
  const at = args.findIndex(is);
  if (at === -1) return { args: [...args] };
  const apart = args[at] === flag;
  const rest = [...args.slice(0, at), ...args.slice(at + (apart ? 2 : 1))];
  if (rest.some(is)) throw new ConfigError(`${flag} is given twice`);
  return { value: (apart ? args[at + 1] : args[at]?.slice(flag.length + 1)) ?? '', args: rest };
}

/** The flags that set no variables. */
export function withoutVariables(args: readonly string[]): string[] {
  return args.filter(
    (arg, i) =>
      !/^(-e|--env=)./s.test(arg) &&
      !/^(-e|--env)$/.test(args[i - 1] ?? '') &&
      !(/^(-e|--env)$/.test(arg) && i + 1 < args.length),
  );
}

/** Throws on flags that set no variables, for commands without flags. */
export function onlyVariables(args: readonly string[]): void {
  const [extra] = withoutVariables(args);
  if (extra !== undefined) throw new ConfigError(`${extra} is not known; allowed: -e NAME=value, --help`);
}

/** The variables of a command: those of the environment, overridden by flags. */
export function variablesOf(args: readonly string[], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const given = assignmentsOf(args).map((text) => text.split(/=(.*)/s, 2));
  return { ...env, ...Object.fromEntries(given) };
}

/** k6's exit codes of a complete run: passed, a crossed threshold, or failed while k6 judged no threshold. */
const ENDED = [0, 99, 110];

/** Whether a run is complete, whatever its verdict. */
export function cameToItsEnd({ code, signal }: Ended): boolean {
  return signal === null && code !== null && ENDED.includes(code);
}

/** k6's line of a test that a limit with abortOnFail ended. */
export const ABORTED = /^thresholds on metrics .* abortOnFail enabled/;

/** k6's line of a run that ended itself: it has the place in the script behind the reason, which is not its user's. */
const CALLED = /^(test aborted: .*) at \S+ \(file:\/\/\S+\)$/;

/**
 * Output of a `k6 run` that is printed: everything, the script's output and errors, or errors only. A crossed threshold is printed with
 * `all` only, or where it ended the test; otherwise the verdict reports it.
 */
export type Shown = 'all' | 'script' | 'errors';

/** A `k6 run` in the terminal. */
export class K6Run extends Child {
  /**
   * @param within a command that execs k6 elsewhere, like in a network namespace
   * @param print prints errors
   */
  constructor(
    script: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    shown: Shown,
    within: readonly string[] = [],
    print: (line: string) => void = console.error,
  ) {
    const pinned = onItsCpus(readAffinity(env.CPU_AFFINITY), 'k6');
    // A script's lines are for the reader, without k6's prefixes.
    const own = shown === 'all' ? [] : ['-q', '--log-format', 'raw'];
    super([...within, ...pinned, K6, 'run', ...own, ...args, script], {
      stdio: ['inherit', shown === 'errors' ? 'ignore' : 'inherit', shown === 'all' ? 'inherit' : 'pipe'],
      kind: 'k6',
      env: { ...FEW_COLLECTIONS, ...env, ...QUIET },
    });
    if (this.child.stderr) {
      createInterface({ input: this.child.stderr }).on('line', (line) => {
        if (ABORTED.test(line) || !/thresholds on metrics|marked as failed/.test(line))
          print(line.replace(CALLED, '$1'));
      });
    }
  }
}
