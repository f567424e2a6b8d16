import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { commandOf } from '../../../pipeline/shared/command.ts';
import { type StackFile, shortPath } from '../../../pipeline/stack/file.ts';
import type { Stack } from '../../../pipeline/stack/stack.ts';
import { readRun } from '../../../reports/comparison/recording.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { newDirectory, RUNS } from '../../../reports/directory.ts';
import { figure, ms } from '../../../reports/format.ts';
import type { Lab } from '../../lab/lab.ts';
import { factsOf, type Plan } from '../../lab/networks.ts';
import { Remote } from '../../lab/remote.ts';
import type { Supervision } from '../../run/against.ts';
import { runName } from '../../run/directory.ts';
import { type IO, print, warn } from '../../run/io.ts';
import { ADDRESSES, cameToItsEnd, checkScript, K6Run } from '../../run/k6.ts';
import { RunOutputs } from '../../run/outputs.ts';
import { measureSeries } from '../../run/series.ts';
import { Bare, bottlenecks, carries, type NetworkFigures } from './baseline.ts';
import { highestHeld } from './hold.ts';
import type { Options, Topology } from './options.ts';
import { line, type Result, resultOf, table } from './table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = join(ROOT, 'scenarios/matrix.ts');
/** The conditions under which a rate is held. */
const HOLD = join(ROOT, 'scenarios/capacity.js');
const PROBE = join(import.meta.dirname, 'probe.ts');
/** How long the generator alone is measured, s. */
const ALONE = 1;
/** Two figures for the estimate: what a run takes beside its measured phase (warm-up, k6's start and end), and the start of a pipeline, s. */
const AROUND = 5;
const START = 4;

/** What generator and networks do without the pipeline. */
interface Alone {
  /** Requests per second. */
  generator: number;
  networks: Record<string, NetworkFigures>;
}

/** The command that measures. */
interface Command {
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  io: IO;
}

/** A cell of the matrix, of one repeat. */
interface Cell {
  topology: Topology;
  plan: Plan;
}

/** Measures what generator and networks do alone, then every cell, and compares. Returns the exit code. */
export async function measureMatrix(
  options: Options,
  plans: readonly Plan[],
  lab: Lab | undefined,
  command: Command,
): Promise<number> {
  const matrix = new Matrix(options, plans, new Remote('matrix', lab, command.env), command);
  const round = options.topologies.flatMap((topology) => plans.map((plan) => ({ topology, plan })));
  const cells: Cell[] = Array.from({ length: options.repeat }, () => round).flat();
  try {
    return await measureSeries<Cell, Result>(
      {
        name: 'matrix',
        variants: cells,
        measure: (cell, supervision) => matrix.measure(cell, supervision),
        passed: ({ verdict, rate }) => (rate === undefined ? verdict === 'pass' : rate > 0),
        table,
        write: (folder, results) => matrix.write(folder, results),
      },
      command.io,
    );
  } finally {
    await matrix.close();
  }
}

class Matrix {
  readonly #options: Options;
  readonly #plans: readonly Plan[];
  readonly #remote: Remote;
  readonly #command: Command;
  readonly #outputs: RunOutputs;
  #bare: Bare | undefined;
  #alone: Alone | undefined;
  /** The pipeline that is up. */
  #stack: StackFile | undefined;
  #measured = 0;

  constructor(options: Options, plans: readonly Plan[], remote: Remote, command: Command) {
    this.#options = options;
    this.#plans = plans;
    this.#remote = remote;
    this.#command = command;
    this.#outputs = new RunOutputs(command.io);
  }

  /** Measures a cell. The first one of a topology starts its pipeline; before the first of all, it measures what there is without one. */
  async measure({ topology, plan }: Cell, supervision: Supervision): Promise<Result> {
    if (this.#bare === undefined) await this.#prepare();
    if (plan === this.#plans[0] || this.#stack === undefined) {
      const stack = await supervision.use(() => this.#remote.start({ TOPOLOGY: topology }));
      this.#stack = (stack as Stack).file;
    }
    const file = this.#stack;
    this.#alone ??= await this.#measureAlone(file, supervision);
    const result = await this.#cell(file, plan, this.#alone, supervision);
    this.#measured++;
    print(this.#command.io, `${String(this.#measured).padStart(4)} of ${this.#cells}  ${line(result)}`);
    return result;
  }

  /** Ends what is still running. */
  async close(): Promise<void> {
    this.#bare?.stop();
    await this.#remote.close();
  }

  get #cells(): number {
    return this.#options.topologies.length * this.#plans.length * this.#options.repeat;
  }

  async #prepare(): Promise<void> {
    await checkScript(SCRIPT, [], { ...this.#command.env, ...ADDRESSES, ...this.#settings });
    await this.#remote.prepare(this.#plans);
    this.#bare = await Bare.start(this.#remote.listen);
  }

  /** Measures generator and networks, and rejects when they are the bottleneck. */
  async #measureAlone(file: StackFile, supervision: Supervision): Promise<Alone> {
    const { topologies, repeat, duration, capacity } = this.#options;
    const generator = await this.#generatorAlone(file, supervision);
    const networks = await this.#networksAlone(supervision);
    const reasons = bottlenecks(this.#options, generator, networks);
    if (reasons.length > 0) throw new Error(`the matrix is refused: ${reasons.join('\n')}`);
    const minutes = (this.#cells * (duration + AROUND) + repeat * topologies.length * START) / 60;
    const runs = capacity ? 'searches, each of some runs' : 'runs';
    const about = capacity ? '' : `, about ${Math.ceil(minutes)} min`;
    print(this.#command.io, `matrix      ${this.#cells} ${runs} of ${duration} s${about}`);
    return { generator, networks };
  }

  get #settings(): NodeJS.ProcessEnv {
    const { rate, duration, connections } = this.#options;
    return {
      RATE: String(rate),
      DURATION: String(duration),
      CONNECTIONS: String(connections),
      STACK_DIR: this.#remote.generatorDir,
    };
  }

  /** Runs k6 in the generator's place, and returns what it left. */
  async #generate(
    runDir: string,
    env: NodeJS.ProcessEnv,
    { launch, stop }: Supervision,
    script = SCRIPT,
  ): Promise<Run> {
    const { argv, env: given, io } = this.#command;
    const own = { RUN_DIR: runDir, ARRIVAL_COMMAND: commandOf('', argv, 'matrix', { env: given }) };
    const all = { ...given, ...this.#settings, ...own, ...env };
    const printError = (line: string) => warn(io, line);
    const outs = this.#outputs.next(all);
    const k6 = () =>
      new K6Run(script, outs.args, { ...all, ...outs.env }, 'errors', this.#remote.within, printError);
    const ended = await launch(k6);
    stop.throwIfAborted();
    if (!cameToItsEnd(ended)) throw new Error(`k6 ended with ${ended.signal ?? ended.code}`);
    return readRun(runDir);
  }

  /** Requests per second against a server that answers 202 and does nothing, with no network between that is ours. */
  async #generatorAlone(file: StackFile, supervision: Supervision): Promise<number> {
    const url = `http://127.0.0.1:${(this.#bare as Bare).httpPort}`;
    await this.#remote.reach(undefined, { ...file, ingest: { ...file.ingest, url } });
    const runDir = join(this.#remote.dir, 'alone');
    const run = await this.#generate(runDir, { ALONE: 'true', DURATION: String(ALONE) }, supervision);
    await rm(runDir, { recursive: true, force: true });
    const rate = run.account.requests.sent / (run.steps[0]?.duration_s ?? ALONE);
    const text = `generator ${Math.round(rate)} requests/s (a bare server that answers 202)`;
    print(this.#command.io, `alone       ${text}`);
    return rate;
  }

  async #networksAlone({ stop }: Supervision): Promise<Alone['networks']> {
    const figures: Alone['networks'] = {};
    for (const plan of this.#plans) {
      const { name } = plan.network;
      const route = await this.#remote.route(plan, { bare: (this.#bare as Bare).tcpPort });
      try {
        const probe = [process.execPath, PROBE, route.host, String(route.ports.bare)];
        const [command = '', ...args] = [...this.#remote.within, ...probe];
        const { stdout } = await execa(command, args, { cancelSignal: stop });
        const one = JSON.parse(stdout) as NetworkFigures;
        figures[name] = one;
        print(
          this.#command.io,
          `alone       ${name.padEnd(9)} round trip ${ms(one.rtt_ms)} ms, ` +
            `${figure(one.up_mbit)} Mbit/s up, ${figure(one.down_mbit)} Mbit/s down`,
        );
      } finally {
        await route.close();
      }
    }
    return figures;
  }

  async #cell(file: StackFile, plan: Plan, alone: Alone, supervision: Supervision): Promise<Result> {
    const route = await this.#remote.reach(plan, file);
    try {
      const labels = { TOPOLOGY: file.topology, NETWORK: plan.network.name };
      const runDir = newDirectory(join(RUNS, runName(SCRIPT, labels, new Date())));
      if (!this.#options.capacity) {
        return resultOf(await this.#generate(runDir, labels, supervision), runDir);
      }
      const { rate: start, highest, p99 } = this.#options;
      const bound = Math.min(highest, alone.generator, carries(alone.networks[plan.network.name]));
      const { run, rate, least } = await highestHeld({
        start,
        bound: Math.floor(bound),
        runDir,
        generate: (dir, rate) =>
          this.#generate(dir, { ...labels, RATE: `${rate}`, P99: `${p99}` }, supervision, HOLD),
        io: this.#command.io,
      });
      return { ...resultOf(run, runDir), rate, ...(least && { least }) };
    } finally {
      await route.close();
    }
  }

  /** Writes matrix.json: the settings, what was measured alone, and the runs. */
  async write(folder: string, results: readonly Result[]): Promise<void> {
    const { networks: _, ...asked } = this.#options;
    const networks = this.#plans.map((plan) => ({ ...plan.network, made: factsOf(plan) }));
    const runs = results.map((result) => ({ ...result, dir: shortPath(result.dir) }));
    const figures = JSON.stringify({ ...asked, networks, alone: this.#alone, runs }, null, 2);
    await writeFile(join(folder, 'matrix.json'), `${figures}\n`);
    print(this.#command.io, `figures     ${shortPath(join(folder, 'matrix.json'))}`);
  }
}
