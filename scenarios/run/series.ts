/** Runs scenarios one after the other, each by run.ts in its own process, and writes a page that compares them. */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { Child, type Ended } from '../../pipeline/stack/child.ts';
import { isUndecided, signOf, verdictText } from '../../reports/comparison/doubts.ts';
import type { InDoubt, Run } from '../../reports/contract/run.ts';
import { COMPARISONS, moment, newDirectory } from '../../reports/directory.ts';
import { compact } from '../../reports/format.ts';
import { type Supervision, supervise } from './against.ts';
import { type IO, linkTo, openPage, print } from './io.ts';
import { cameToItsEnd, takeFlag, variablesOf } from './k6.ts';
import { outputsOf } from './outputs.ts';
import { aligned, spread } from './table.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A run of a series. */
export interface Measured {
  name: string;
  dir: string;
  run: Run;
}

/** A run that left nothing to compare. It has printed its error itself. */
class RunFailed extends Error {
  readonly code: number;
  constructor(name: string, { code, signal }: Ended) {
    super(`${name}: the run ended with ${signal ?? code}`);
    this.code = code || 1;
  }
}

/** Removes a flag with a count from the arguments; 1 by default. */
export function countFlag(
  flag: string,
  most: number,
  args: readonly string[],
): { count: number; args: string[] } {
  const { value, args: rest } = takeFlag(flag, args);
  if (value === undefined) return { count: 1, args: rest };
  const count = Number(value);
  if (!/^\d+$/.test(value) || count < 1 || count > most)
    throw new ConfigError(`${flag} is "${value}"; allowed: 1 to ${most}`);
  return { count, args: rest };
}

/** Variants that are measured one after the other, and compared. */
export interface Series<Variant, Result extends { dir: string }> {
  /** The name of the page's folder, before the time. */
  name: string;
  variants: readonly Variant[];
  /** Measures a variant; a text says why this machine cannot have it. */
  measure(variant: Variant, supervision: Supervision): Promise<Result | string>;
  passed(result: Result): boolean;
  table(results: readonly Result[]): string;
  /** Writes further files into the page's folder. */
  write?(folder: string, results: readonly Result[]): Promise<void>;
  /** Whether the page shows repeats of one another apart. */
  each?: boolean;
  /** Whether the page is opened in the browser. */
  opens?: boolean;
}

/** Measures a series, prints its table, and makes its page. Ctrl-C ends it. @returns the exit code */
export function measureSeries<Variant, Result extends { dir: string }>(
  { name, variants, measure, passed, table, write, each = false, opens = false }: Series<Variant, Result>,
  io: IO,
): Promise<number> {
  return supervise(io, async (supervision) => {
    const began = moment();
    const results: Result[] = [];
    const refused: string[] = [];
    for (const variant of variants) {
      supervision.stop.throwIfAborted();
      const result = await measure(variant, supervision);
      if (typeof result === 'string') refused.push(result);
      else results.push(result);
    }
    print(io, `\n${[table(results), ...refused].join('\n\n')}\n`);
    const folder = newDirectory(join(COMPARISONS, `${name}-${began}`));
    await write?.(folder, results);
    const dirs = results.map(({ dir }) => dir);
    const page = join(folder, 'index.html');
    if (dirs.length > 1) await comparePage(io, page, dirs, each ? ['--each'] : []);
    if (opens && dirs.length > 1) await openPage(page, process.env, io);
    return refused.length === 0 && results.every(passed) ? 0 : 99;
  });
}

/** Whether a run of a series passed. */
export function hasPassed({ run }: Measured): boolean {
  return run.verdict.result === 'pass';
}

/** Runs a script by run.ts, as often as a series wants. */
export class ScriptRuns {
  readonly #script: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #io: IO;
  #runs = 0;

  /** @param env the environment of every run */
  constructor(script: string, env: NodeJS.ProcessEnv, io: IO) {
    if (env.RUN_DIR)
      throw new ConfigError('RUN_DIR is one directory, and each run has one of its own: leave it out');
    if (env.RUN_ID)
      throw new ConfigError('RUN_ID is of one run, and each run has one of its own: leave it out');
    this.#script = script;
    this.#env = env;
    this.#io = io;
  }

  /**
   * Runs the script, with its own pipeline or the running one, prints its output, and reads its run.
   * @param within a command that execs the script elsewhere, like in a network namespace
   */
  async measure(
    name: string,
    { launch, stop }: Supervision,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    within: readonly string[] = [],
  ): Promise<Measured> {
    let report: string | undefined;
    const whole = { ...this.#env, ...env };
    const outputs = outputsOf(args, whole, { name: `run-${++this.#runs}` });
    if (outputs.names.length > 0) print(this.#io, `outputs  ${outputs.names.join(', ')}`);
    const variables = Object.entries(outputs.env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    const given = [this.#script, ...outputs.args, ...variables];
    const ended = await launch(
      () =>
        new ScriptRun(within, given, whole, this.#io, (path) => {
          report = path;
        }),
    );
    stop.throwIfAborted();
    if (report === undefined || !cameToItsEnd(ended)) throw new RunFailed(name, ended);
    const dir = dirname(resolve(ROOT, report));
    return { name, dir, run: JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as Run };
  }
}

/** A run by run.ts, which prints the path of its report last. */
class ScriptRun extends Child {
  constructor(
    within: readonly string[],
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    io: IO,
    onReport: (report: string) => void,
  ) {
    super([...within, process.execPath, join(ROOT, 'scenarios/run/run.ts'), ...args], {
      cwd: ROOT,
      env: { ...env, npm_lifecycle_event: undefined },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(this.child.stdout as Readable).on('line', (line) => {
      const [, path] = /^ *report +(\S+)$/.exec(line) ?? [];
      if (path !== undefined) onReport(path);
      print(io, line);
    });
  }
}

/** Writes a page that compares runs. It accepts runs with refused or lost messages, and shows these on top. */
async function comparePage(
  io: IO,
  page: string,
  dirs: readonly string[],
  flags: readonly string[],
): Promise<void> {
  const args = ['compare', '--allow-failed', ...flags, '--out', page, ...dirs];
  const { all, failed } = await execa(process.execPath, [join(ROOT, 'reports/main.ts'), ...args], {
    cwd: ROOT,
    reject: false,
    all: true,
  });
  if (failed) throw new Error(`the runs could not be compared: ${all}`);
  print(io, `comparison  ${linkTo(page, io)}`);
}

/** `--repeat`: runs a scenario so many times, and prints the means of its figures. @returns the exit code */
export async function repeated(
  script: string,
  name: string,
  args: readonly string[],
  times: number,
  env: NodeJS.ProcessEnv,
  io: IO,
  opens = false,
): Promise<number> {
  const runs = new ScriptRuns(script, variablesOf(args, env), io);
  const series: Series<number, Measured> = {
    name: `${name}-repeats`,
    variants: Array.from({ length: times }, (_, i) => i + 1),
    measure(n, supervision) {
      print(io, `repeat  ${n} of ${times}`);
      return runs.measure(`run ${n}`, supervision, args);
    },
    passed: hasPassed,
    table: (all) => repeats(all.map(({ run }) => run)),
    each: true,
    opens,
  };
  return measureSeries(series, io).catch((error) => {
    if (error instanceof RunFailed) return error.code;
    throw error;
  });
}

interface Row {
  label: string;
  value: (run: Run) => number | null | undefined;
  /** The claim whose doubt is a doubt about this figure; a figure of a script has none. */
  claim?: InDoubt['claim'];
}

const SIGNS = { '≤': 'at most', '≥': 'at least', '≈': 'about' };

/** A row for each figure: its value in each run, and mean and spread over valid runs. Pure. */
export function repeats(runs: readonly Run[]): string {
  const names = new Map(
    runs.flatMap(({ figures = [] }) => figures.map(({ name, unit }) => [name, `${name}, ${unit}`])),
  );
  const rows: Row[] = [
    { label: 'arrival p50, ms', value: ({ latency }) => latency.arrival.p50, claim: 'arrival' },
    { label: 'arrival p99, ms', value: ({ latency }) => latency.arrival.p99, claim: 'arrival' },
    { label: 'HTTP p99, ms', value: ({ latency }) => latency.http.p99, claim: 'http' },
    ...(runs.some(({ knee }) => knee) ? [{ label: 'knee, VUs', value: ({ knee }: Run) => knee?.vus }] : []),
    ...[...names].map(([name, label]) => ({
      label,
      value: ({ figures = [] }: Run) => figures.find((one) => one.name === name)?.value,
    })),
  ];
  const cell = (run: Run, { value, claim }: Row) => {
    const one = value(run);
    const sign = signOf(run.facts.doubts.find((doubt) => doubt.claim === claim)?.direction);
    return one == null ? 'n/a' : `${sign}${compact(one)}`;
  };
  const sound = runs.filter(({ verdict: { result } }) => result === 'pass' || result === 'fail');
  const verdicts = runs.map((run) =>
    verdictText({ verdict: run.verdict.result, undecided: isUndecided(run) }),
  );
  const cells = rows.map((row) => runs.map((run) => cell(run, row)));
  const text = aligned([
    ['', ...runs.map((_, i) => `run ${i + 1}`), `mean of ${sound.length}`],
    ['verdict', ...verdicts, ''],
    ...rows.map(({ label, value }, i) => [
      label,
      ...(cells[i] ?? []),
      spread(sound.map((run) => value(run) ?? null)),
    ]),
  ]);
  const used = Object.entries(SIGNS).filter(([sign]) => cells.flat().some((text) => text.startsWith(sign)));
  const notes = ['of runs that pass or fail', ...used.map(([sign, meaning]) => `${sign} ${meaning}`)];
  return `${text}\n(mean ± standard deviation, ${notes.join('; ')})`;
}
