/** `npm run report`: makes the page of a run again, a comparison of runs, or a list of runs. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { ConfigError } from '../pipeline/shared/config.ts';
import { isEntry, outliveReaders } from '../pipeline/shared/entry.ts';
import { readFlags } from '../pipeline/shared/flags.ts';
import { printFolded } from '../pipeline/shared/fold.ts';
import { printable } from '../pipeline/shared/printable.ts';
import { said } from './account.ts';
import type { Io } from './command.ts';
import { comparisonOf, FailedRunsError } from './comparison/compare.ts';
import type { Comparison, Judgement } from './comparison/comparison.ts';
import { type Condition, ConditionError, judge, parseCondition } from './comparison/conditions.ts';
import { comparisonMarkdown } from './comparison/markdown.ts';
import { comparisonTemplate, renderComparison } from './comparison/page.ts';
import { type Group, linkedFrom, type Recording } from './comparison/recording.ts';
import { grouped } from './comparison/subjects.ts';
import { comparisonText } from './comparison/text.ts';
import { judgementText, resultText } from './comparison/words.ts';
import { FAILED } from './contract/run.ts';
import { COMPARISONS, moment, newDirectory, RUNS } from './directory.ts';
import { Catalogue, latest } from './history/catalogue.ts';
import { listText } from './history/text.ts';
import { check, merge, render } from './k6.ts';

const or = (words: readonly string[]) => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const USAGE = `Usage: npm run report -- <run>                      rewrites the page of a run from its run.json
       npm run report -- compare <baseline> <run>…  compares runs: a table here, and a page
       npm run report -- check <run>…               checks runs against thresholds, as k6 x arrival check does
       npm run report -- merge <run>…               makes one run of what its instances have left
       npm run report -- list                       lists the runs, newest first

A run is a directory, or its name in reports/runs. latest is the newest run that has ended, latest:ramp the newest ramp of k6,
latest:ramp:artillery that of Artillery.

compare
  --fail-if <condition>   exit 1 when it holds, like 'arrival.p99 > +10%' or 'account.lost > 0'; may be repeated
  --sure                  a difference counts only when its whole interval exceeds the limit
  --each                  no run is a repeat of another
  --allow-failed          also runs with ${or(FAILED.map(said))} messages; their conditions still fail
  --out <file>            the page (reports/comparisons/<time>/index.html)
  --json <file>           the comparison for programs
  --markdown <file>       the comparison for a comment on a change
check
  --threshold <limit>     what must hold, like 'arrival.p99 < 250ms' or 'account.lost == 0'; may be repeated
merge
  --out <directory>       the directory of the merged run (the parent of its instances')
list
  --text <words>          only runs whose name, labels or profile have all these words

Exit code
  0   no condition holds; the merged run passes
  1   a condition holds, is undecided or cannot be judged, or messages failed; the merged run does not pass; a run cannot be read
  2   the command is wrong, or --allow-failed is missing
Exit code of check
  0   every run passes, and every threshold holds
  99  a limit is broken
  2   none is broken, but one is undecided or was not judged: run it again
  1   the command is wrong, or a run cannot be read

reports/README.md has the grammar of thresholds and conditions, and says what the words of a comparison mean.`;

const options = {
  'fail-if': { type: 'string', multiple: true },
  threshold: { type: 'string', multiple: true },
  sure: { type: 'boolean' },
  each: { type: 'boolean' },
  'allow-failed': { type: 'boolean' },
  json: { type: 'string' },
  markdown: { type: 'string' },
  out: { type: 'string' },
  text: { type: 'string' },
} as const;
type Values = ReturnType<typeof parse>['values'];

/** The options of each command. */
const ALLOWED: Record<string, readonly string[]> = {
  compare: ['fail-if', 'sure', 'each', 'allow-failed', 'out', 'json', 'markdown'],
  check: ['threshold'],
  merge: ['out'],
  list: ['text'],
  '': [],
};

/** Runs the command, and reports an error in one line. @returns the exit code */
export async function main(argv: readonly string[], _env: NodeJS.ProcessEnv, io: Io): Promise<number> {
  try {
    return await run(argv, io);
  } catch (error) {
    const [line] = (error as Error).message.split('\n');
    io.stderr.write(`report: ${printable(line as string)}\n`);
    // check ends as k6 x arrival check does, whose 2 is an undecided threshold.
    const isCheck = argv.find((word) => !word.startsWith('-')) === 'check';
    return error instanceof ConfigError && !isCheck ? 2 : 1;
  }
}

async function run(argv: readonly string[], io: Io): Promise<number> {
  const { stdout } = io;
  const print = (text: string) => void stdout.write(`${text}\n`);
  const { values, positionals } = parse(argv);
  if (values.help) {
    printFolded(USAGE, stdout as NodeJS.WriteStream);
    return 0;
  }
  const [first = '', ...rest] = positionals;
  const command = first !== '' && Object.hasOwn(ALLOWED, first) ? first : '';
  if (command === 'check' && values['fail-if'] !== undefined)
    throw new ConfigError(
      "check has no --fail-if; allowed: --threshold, which says what must hold, like 'arrival.p99 < 250ms'",
    );
  for (const name of Object.keys(values)) {
    if (!ALLOWED[command]?.includes(name)) {
      const places = Object.keys(ALLOWED).filter((one) => ALLOWED[one]?.includes(name));
      throw new ConfigError(`--${name} belongs to ${places.join(' and ')}; see --help`);
    }
  }
  if (command === 'compare') return compareRuns(rest, values, print);
  if (command === 'check') return checkRuns(rest, values.threshold ?? [], io);
  if (command === 'merge') return mergeParts(rest, values.out);
  if (command === 'list') {
    if (rest.length > 0) throw new ConfigError(`list takes no ${rest[0]}; --text finds runs`);
    const { entries, misfits } = await new Catalogue(RUNS).list();
    print(listText(entries, misfits, values.text ?? ''));
    return 0;
  }
  if (positionals.length !== 1) {
    throw new ConfigError(`expected one run, got ${positionals.length}; see --help`);
  }
  print(await report(await directoryOf(first)));
  return 0;
}

function parse(argv: readonly string[]) {
  return readFlags(argv, options, true);
}

/** Writes a line, or some. */
type Print = (text: string) => void;

/** @returns the exit code */
async function compareRuns(names: string[], values: Values, print: Print): Promise<number> {
  if (names.length < 2) throw new ConfigError(`compare takes at least two runs, got ${names.length}`);
  const conditions = conditionsOf(values);
  if (values.sure && conditions.length === 0) throw new ConfigError('--sure needs --fail-if');
  const template = await comparisonTemplate();
  const directories = await Promise.all(names.map(directoryOf));
  // The directory is made later, as a comparison may be refused.
  const place = dirname(values.out ?? join(COMPARISONS, moment(), 'index.html'));
  const recordings = await Promise.all(directories.map((directory) => linkedFrom(place, directory)));
  refuseTwice(names, recordings);
  const groups = grouped(recordings, values.each ?? false);
  const comparison = comparisonAsked(groups, values['allow-failed'] ?? false);
  comparison.conditions = conditions.flatMap((condition) =>
    wellFormed(() => judge(condition, groups, values.sure ?? false)),
  );
  print(comparisonText(comparison));
  const path = values.out ?? join(newDirectory(join(COMPARISONS, moment())), 'index.html');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, renderComparison(comparison, template));
  print(`report      ${shortPath(path)}`);
  await writeTo(values.json, `${JSON.stringify(comparison)}\n`);
  await writeTo(values.markdown, comparisonMarkdown(comparison));
  for (const one of comparison.conditions) print(gateText(one, `${one.subject}: `));
  return comparison.conditions.some(({ result }) => result !== 'passed') ? 1 : 0;
}

function gateText(judgement: Judgement, subject = ''): string {
  return `fail-if     ${resultText(judgement.result).padEnd(10)} ${printable(subject + judgementText(judgement))}`;
}

/** @throws {ConfigError} if it is not allowed */
function comparisonAsked(groups: readonly Group[], allowFailed: boolean): Comparison {
  try {
    return comparisonOf(groups, { allowFailed });
  } catch (error) {
    if (!(error instanceof FailedRunsError)) throw error;
    throw new ConfigError(`${error.message}; --allow-failed compares them anyway`);
  }
}

/** A run that counts twice makes intervals narrower than what was measured. @throws {ConfigError} */
function refuseTwice(names: readonly string[], recordings: readonly Recording[]): void {
  const seen = new Map<string, string>();
  for (const [i, { run }] of recordings.entries()) {
    const [name, first] = [names[i] ?? '', seen.get(run.run.id)];
    if (first !== undefined)
      throw new ConfigError(
        first === name ? `${name} is listed twice` : `${first} and ${name} are the same run, ${run.run.id}`,
      );
    seen.set(run.run.id, name);
  }
}

/** @throws {ConfigError} */
function conditionsOf(values: Values): Condition[] {
  return (values['fail-if'] ?? []).map((text) => wellFormed(() => parseCondition(text)));
}

/** Turns a malformed condition into a wrong command. */
function wellFormed<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw error instanceof ConditionError ? new ConfigError(error.message) : error;
  }
}

/** Writes a file, unless `path` is undefined. */
async function writeTo(path: string | undefined, text: string): Promise<void> {
  if (path === undefined) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** @returns the exit code */
async function checkRuns(names: string[], thresholds: string[], io: Io): Promise<number> {
  if (names.length === 0) throw new ConfigError('check takes runs; see --help');
  const { code, stdout, stderr } = await check(await Promise.all(names.map(directoryOf)), thresholds);
  io.stdout.write(stdout);
  io.stderr.write(stderr);
  return code;
}

/** @returns the exit code */
async function mergeParts(names: string[], out: string | undefined): Promise<number> {
  if (names.length === 0)
    throw new ConfigError('merge takes the runs of the instances, or the directory that holds them');
  return (await merge(await Promise.all(names.map(directoryOf)), out)) ? 0 : 1;
}

/** A directory, the name of one in reports/runs, or the newest there. */
async function directoryOf(name: string): Promise<string> {
  for (const place of [name, join(RUNS, name)]) {
    if (await isDirectory(place)) return place;
  }
  const found = await latest(name, RUNS);
  if (found !== undefined) return found;
  throw new ConfigError(
    `${name} is neither a directory nor the name of one in reports/runs; npm run report -- list shows them`,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

/** @returns the path of the report */
async function report(directory: string): Promise<string> {
  await render(directory);
  return join(directory, 'index.html');
}

/** A path relative to the current directory, absolute outside it. */
function shortPath(path: string): string {
  const short = relative('', resolve(path));
  return short.startsWith('..') ? resolve(path) : short;
}

if (isEntry(import.meta)) {
  outliveReaders();
  process.exitCode = await main(process.argv.slice(2), process.env, process);
}
