/** The first process of the image `arrival` (k6.Dockerfile): it becomes the program of a command, which so gets all signals. */
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { isEntry } from '../shared/entry.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Command {
  /** The npm script that does it in a checkout. */
  script: keyof typeof manifest.scripts;
  /** What follows the script's name there. */
  words?: string[];
  means: string;
  /** Whether it writes below the working directory. */
  writes?: boolean;
}

const COMMANDS: Record<string, Command> = {
  try: { script: 'try', means: 'one message goes round, step by step: try my.yml' },
  smoke: { script: 'smoke', means: 'whether the whole pipeline works', writes: true },
  ramp: { script: 'ramp', means: 'arrival times while the load ramps up', writes: true },
  sweep: { script: 'sweep', means: 'the knee as concurrency grows', writes: true },
  capacity: { script: 'capacity', means: 'the highest rate with p99 below a limit', writes: true },
  spike: { script: 'spike', means: 'how long it takes to recover from a burst', writes: true },
  soak: { script: 'soak', means: 'whether it stays stable for hours', writes: true },
  fixed: { script: 'fixed', means: 'a fixed concurrency', writes: true },
  scenario: { script: 'scenario', means: 'any script: scenarios/own.js, or yours', writes: true },
  compare: { script: 'report', words: ['compare'], means: 'compares runs; --fail-if', writes: true },
  check: { script: 'report', words: ['check'], means: 'checks runs against thresholds' },
  merge: { script: 'report', words: ['merge'], means: 'merges what instances have left', writes: true },
  list: { script: 'report', words: ['list'], means: 'lists the runs' },
  report: { script: 'report', means: "writes a run's page again", writes: true },
  reports: { script: 'reports', means: 'the runs in a browser, on http://127.0.0.1:8022' },
};

/** k6 itself. */
const K6 = 'k6';

const HELP = `Measures how long messages take to arrive through your pipeline, and accounts for every one.

  docker run --rm --network host --user "$(id -u):$(id -g)" -v "$PWD:/data" -e INGEST_TOKEN arrival <command> [<its words>]

${Object.entries(COMMANDS)
  .map(([name, { means }]) => `  ${name.padEnd(10)}${means}`)
  .join('\n')}
  ${K6.padEnd(10)}k6 with this project's modules; k6 x arrival --help

--help after a command lists its settings. INGEST_URL and MQTT_URL, or ARRIVE, name your pipeline: -e NAME=value after the command, or --pipeline my.yml.
Runs are written to reports/runs in the mounted folder. The exit code is the command's: of a load 0 for pass, 99 for another verdict.
`;

/** A program with its arguments, its own name first. */
type Program = [file: string, ...args: string[]];

/** The program of a command. Its npm script is `npm run -s setup && exec node main.ts script.js`, or `… && exec ./k6 words`. */
function programOf({ script, words = [] }: Command): Program {
  const [, program = '', line = ''] = /exec (node|\.\/k6) (.*)$/.exec(manifest.scripts[script]) ?? [];
  if (program !== 'node') return [join(ROOT, K6), ...line.split(' '), ...words];
  // The working directory is the user's.
  const own = line.split(' ').map((path) => join(ROOT, path));
  return [process.execPath, ...own, ...words];
}

/**
 * The program that the words after the image's name ask for; undefined: help.
 * @throws one line: there is no such command, or it could not leave what it writes
 */
export function asked(
  [name = '--help', ...args]: readonly string[],
  canWrite: () => boolean,
): Program | undefined {
  if (['--help', '-h', 'help'].includes(name)) return undefined;
  if (name === K6) return [join(ROOT, 'k6'), ...args];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined)
    throw new Error(`${name} is not a command; allowed: ${[...Object.keys(COMMANDS), K6].join(', ')}`);
  const helps = args.some((word) => word === '--help' || word === '-h');
  if (command.writes && !helps && !canWrite())
    throw new Error(
      `reports cannot be written to ${process.cwd()}; allowed: --user "$(id -u):$(id -g)" -v "$PWD:/data" after docker run`,
    );
  return [...programOf(command), ...(name === 'scenario' ? args.map(there) : args)];
}

/** A script of the image, unless the user's folder has one of this path. */
function there(path: string): string {
  const own = join(ROOT, path);
  return !existsSync(path) && path.startsWith('scenarios/') && existsSync(own) ? own : path;
}

/** The programs of all commands. */
export const programs = () => Object.values(COMMANDS).map(programOf);

/** Whether reports can be written: to their folder, or to the nearest above it that is there. */
function canWrite(): boolean {
  let folder = resolve(process.env.ARRIVAL_REPORTS ?? '.', 'runs');
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

if (isEntry(import.meta)) {
  const argv = process.argv.slice(2);
  try {
    const program = asked(argv, canWrite);
    if (program === undefined) process.stdout.write(HELP);
    else process.execve?.(program[0], program, { ...process.env, npm_lifecycle_event: argv[0] });
  } catch (error) {
    console.error(`arrival: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
