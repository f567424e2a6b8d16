/** `npm run referee`: how far off each load generator is, on a server whose truth is known. */
import { rm, writeFile } from 'node:fs/promises';
import { cpus, release } from 'node:os';
import { join, relative } from 'node:path';
import { execa } from 'execa';
import { isEntry } from '../../../pipeline/shared/entry.ts';
import { printFolded } from '../../../pipeline/shared/fold.ts';
import { printable, printableLines } from '../../../pipeline/shared/printable.ts';
import { INTERRUPTED } from '../../../pipeline/stack/interrupt.ts';
import { moment, newDirectory, RUNS } from '../../../reports/directory.ts';
import { changeText, ms, percent, plain, plural } from '../../../reports/format.ts';
import { cellsOf } from '../../../reports/referee/cells.ts';
import { writeReferee } from '../../../reports/referee/page.ts';
import {
  type Quantiles,
  type Referee,
  type RefereeRun,
  SCHEMA,
  type Truth,
} from '../../../reports/referee/result.ts';
import { refereeMarkdown, refereeTable } from '../../../reports/referee/text.ts';
import { type Supervision, supervise } from '../../run/against.ts';
import { type IO, linkTo, print, runProcess, warn } from '../../run/io.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { ROOT, type Tool } from './tool.ts';
import { environment, versionOf } from './tools.ts';
import { measure } from './trial.ts';

/** A run takes so long beside its load, s: server and tool start, and the last answers come. */
const START_S = 3;

/** Measures the tools, and returns the exit code of the command. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  const options = readOptions(argv);
  if (options === 'help') {
    printFolded(HELP, io.stdout);
    return 0;
  }
  return supervise(io, (supervision) => new Campaign(options, env, io).run(supervision));
}

class Campaign {
  readonly #options: Options;
  readonly #env: NodeJS.ProcessEnv;
  readonly #io: IO;
  readonly #started = new Date();
  readonly #versions = new Map<string, string | null>();
  readonly #due = new Map<string, Quantiles>();
  readonly #runs: RefereeRun[] = [];

  constructor(options: Options, env: NodeJS.ProcessEnv, io: IO) {
    this.#options = options;
    this.#env = env;
    this.#io = io;
  }

  async run(supervision: Supervision): Promise<number> {
    const { stop } = supervision;
    for (const tool of this.#options.tools) await this.#find(tool, stop);
    const folder = newDirectory(join(RUNS, `referee-${moment(this.#started)}`));
    const present = this.#options.tools.filter(({ name }) => this.#versions.get(name) !== null);
    await this.#measureAll(present, folder, supervision).catch((error: Error) => {
      if (!stop.aborted) warn(this.#io, printable(`the campaign ends here: ${error.message}`));
    });
    if (this.#runs.length === 0) {
      await rm(folder, { recursive: true });
      return stop.aborted ? INTERRUPTED : 1;
    }
    const result = await this.#write(folder);
    if (stop.aborted) return INTERRUPTED;
    return result.cells.length === present.length * this.#options.truths.length ? 0 : 1;
  }

  /** Looks for a tool, and installs it where that is asked for. */
  async #find(tool: Tool, stop: AbortSignal): Promise<void> {
    const { name, title, install } = tool;
    let version = await versionOf(tool, this.#env);
    if (version === null && this.#options.install) {
      print(this.#io, `install  ${title}: ${install}`);
      const { failed, stderr } = await execa('sh', ['-c', install], {
        ...{ cwd: ROOT, env: environment(this.#env), reject: false, cancelSignal: stop },
      });
      stop.throwIfAborted();
      if (failed)
        warn(
          this.#io,
          `${title} could not be installed: ${printable(stderr.trim().split('\n').at(-1) ?? '')}`,
        );
      version = await versionOf(tool, this.#env);
    }
    this.#versions.set(name, version);
    if (version === null) print(this.#io, `without  ${title}: not installed (${install})`);
  }

  async #measureAll(tools: readonly Tool[], folder: string, supervision: Supervision): Promise<void> {
    const { repeats, truths, seconds } = this.#options;
    const all = orderOf(tools, truths, repeats);
    const minutes = (runs: number) => `about ${Math.ceil((runs * (seconds + START_S)) / 60)} min`;
    const product = `${plural(tools.length, 'tool')} × ${plural(truths.length, 'truth')} × ${seconds} s × ${plural(repeats, 'repeat')}`;
    print(this.#io, `referee  ${product}: ${plural(all.length, 'run')}, ${minutes(all.length)}`);
    for (const [i, { tool, truth, repeat }] of all.entries()) {
      supervision.stop.throwIfAborted();
      const { run, due } = await measure(tool, truth, repeat, this.#options, folder, supervision);
      this.#runs.push(run);
      this.#due.set(truth, due);
      const { p99_ms } = run.reported;
      const said =
        p99_ms === undefined ? 'none' : `${ms(p99_ms)} ms (${changeText(p99_ms / due.p99_ms - 1)})`;
      const { busy, steal } = run.host;
      const parts = [
        `run      ${i + 1} of ${all.length}, ${tool.title}, ${truth}: p99 ${said}, from due ${ms(due.p99_ms)} ms`,
        `host ${percent(busy)} busy, ${percent(steal)} stolen`,
        ...(run.used ? [] : [`not used: ${run.why_not}`]),
        ...(i + 1 < all.length ? [`${minutes(all.length - i - 1)} left`] : []),
      ];
      print(this.#io, printable(plain(parts.join('; '))));
    }
  }

  async #write(folder: string): Promise<Referee> {
    const { rate, connections, seconds, repeats, tools } = this.#options;
    const { stdout } = await execa(join(ROOT, '.stack/referee'), ['truths']);
    const described = JSON.parse(stdout) as Omit<Truth, 'due'>[];
    const result: Referee = {
      schema: SCHEMA,
      started: this.#started.toISOString(),
      machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, kernel: release() },
      load: { rate, connections, seconds, repeats },
      truths: described.flatMap((truth) => {
        const due = this.#due.get(truth.name);
        return due === undefined ? [] : [{ ...truth, due }];
      }),
      tools: tools.map(({ name, title, model, why, install, own }) => ({
        ...{ name, title, version: this.#versions.get(name) ?? null, model, why, install },
        ...(own && { own }),
      })),
      runs: this.#runs,
      cells: cellsOf(this.#runs, this.#due),
    };
    await writeFile(join(folder, 'referee.json'), `${JSON.stringify(result)}\n`);
    await writeFile(join(folder, 'referee.md'), refereeMarkdown(result));
    print(this.#io, `\n${printableLines(refereeTable(result))}\n`);
    print(this.#io, `figures  ${relative('', join(folder, 'referee.json'))}`);
    print(this.#io, `report   ${linkTo(await writeReferee(folder, result), this.#io)}`);
    return result;
  }
}

/** Lets each tool meet each truth; every other time in reverse order, so that none is always the first. */
export function orderOf<T>(tools: readonly T[], truths: readonly string[], repeats: number) {
  return Array.from({ length: repeats }, (_, i) => {
    const once = truths.flatMap((truth) => tools.map((tool) => ({ tool, truth, repeat: i + 1 })));
    return i % 2 === 0 ? once : once.reverse();
  }).flat();
}

if (isEntry(import.meta)) runProcess(main);
