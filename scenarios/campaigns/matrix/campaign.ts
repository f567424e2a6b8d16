import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { commandOf } from '../../../pipeline/common/command.ts';
import { type StackFile, shortPath } from '../../../pipeline/stack/file.ts';
import type { Stack } from '../../../pipeline/stack/stack.ts';
import { readRun } from '../../../reports/comparison/recording.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { COMPARISONS, moment, newDirectory, RUNS } from '../../../reports/directory.ts';
import { figure, ms } from '../../../reports/format.ts';
import type { Lab } from '../../lab/lab.ts';
import { factsOf, type Plan } from '../../lab/networks.ts';
import { Remote } from '../../lab/remote.ts';
import { type Supervision, supervise } from '../../run/against.ts';
import { runName } from '../../run/directory.ts';
import { ADDRESSES, cameToItsEnd, checkScript, K6Run } from '../../run/k6.ts';
import { RunOutputs } from '../../run/outputs.ts';
import { comparePage } from '../../run/series.ts';
import { Bare, bottlenecks, carries, type NetworkFigures } from './baseline.ts';
import { highestHeld } from './hold.ts';
import type { Options } from './options.ts';
import { line, type Result, resultOf, table } from './table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = join(ROOT, 'scenarios/matrix.ts');
/** The conditions under which a rate is held. */
const HOLD = join(ROOT, 'scenarios/capacity.js');
const PROBE = join(import.meta.dirname, 'probe.ts');
/** s of the generator alone. */
const ALONE = 1;
/** s around the measured phase of a run: warm-up, k6's start and end; and s until a pipeline is up. For the estimate. */
const AROUND = 5;
const START = 4;

/** Without the pipeline. */
interface Alone {
  /** Requests per second. */
  generator: number;
  networks: Record<string, NetworkFigures>;
}

/** Measures what generator and networks do alone, then every cell, and compares. Returns the exit code. */
export function campaign(options: Options, plans: readonly Plan[], lab: Lab | undefined): Promise<number> {
  return supervise(async (supervision) => {
    const matrix = new Matrix(options, plans, new Remote('matrix', lab), supervision);
    try {
      return await matrix.run();
    } finally {
      await matrix.close();
    }
  });
}

class Matrix {
  readonly #options: Options;
  readonly #plans: readonly Plan[];
  readonly #remote: Remote;
  readonly #supervision: Supervision;
  readonly #results: Result[] = [];
  readonly #outputs = new RunOutputs();
  #bare: Bare | undefined;

  constructor(options: Options, plans: readonly Plan[], remote: Remote, supervision: Supervision) {
    this.#options = options;
    this.#plans = plans;
    this.#remote = remote;
    this.#supervision = supervision;
  }

  async run(): Promise<number> {
    const { topologies, repeat, duration, capacity } = this.#options;
    await checkScript(SCRIPT, [], { ...process.env, ...ADDRESSES, ...this.#settings });
    await this.#remote.prepare(this.#plans);
    this.#bare = await Bare.start(this.#remote.listen);
    const cells = topologies.length * this.#plans.length * repeat;
    const began = new Date();
    let alone: Alone | undefined;
    for (let round = 0; round < repeat; round++) {
      for (const topology of topologies) {
        const stack = await this.#supervision.use(() => this.#remote.start({ TOPOLOGY: topology }));
        const { file } = stack as Stack;
        if (alone === undefined) {
          alone = { generator: await this.#generatorAlone(file), networks: await this.#networksAlone() };
          const reasons = bottlenecks(this.#options, alone.generator, alone.networks);
          if (reasons.length > 0) throw new Error(`the matrix is refused: ${reasons.join('\n')}`);
          const minutes = (cells * (duration + AROUND) + repeat * topologies.length * START) / 60;
          const runs = capacity ? 'searches, each of some runs' : 'runs';
          const about = capacity ? '' : `, about ${Math.ceil(minutes)} min`;
          console.log(`matrix      ${cells} ${runs} of ${duration} s${about}`);
        }
        for (const plan of this.#plans) {
          const result = await this.#cell(file, plan, alone);
          this.#results.push(result);
          console.log(`${String(this.#results.length).padStart(4)} of ${cells}  ${line(result)}`);
        }
      }
    }
    console.log(`\n${table(this.#results)}\n`);
    await this.#compare(began, alone);
    return this.#results.every(({ verdict, rate }) => (rate === undefined ? verdict === 'pass' : rate > 0))
      ? 0
      : 99;
  }

  /** Ends what is still running. */
  async close(): Promise<void> {
    this.#bare?.stop();
    await this.#remote.close();
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
  async #generate(runDir: string, env: NodeJS.ProcessEnv, script = SCRIPT): Promise<Run> {
    const own = { RUN_DIR: runDir, ARRIVAL_COMMAND: commandOf('', process.argv.slice(2), 'matrix') };
    const all = { ...process.env, ...this.#settings, ...own, ...env };
    const { launch, stop } = this.#supervision;
    const outs = this.#outputs.next(all);
    const k6 = () => new K6Run(script, outs.args, { ...all, ...outs.env }, 'errors', this.#remote.within);
    const ended = await launch(k6);
    stop.throwIfAborted();
    if (!cameToItsEnd(ended)) throw new Error(`k6 ended with ${ended.signal ?? ended.code}`);
    return readRun(runDir);
  }

  /** Requests per second against a server that answers 202 and does nothing, with no network between that is ours. */
  async #generatorAlone(file: StackFile): Promise<number> {
    const url = `http://127.0.0.1:${(this.#bare as Bare).httpPort}`;
    await this.#remote.reach(undefined, { ...file, ingest: { ...file.ingest, url } });
    const runDir = join(this.#remote.dir, 'alone');
    const run = await this.#generate(runDir, { ALONE: 'true', DURATION: String(ALONE) });
    await rm(runDir, { recursive: true, force: true });
    const rate = run.account.requests.sent / (run.steps[0]?.duration_s ?? ALONE);
    console.log(`alone       generator ${Math.round(rate)} requests/s (a bare server that answers 202)`);
    return rate;
  }

  async #networksAlone(): Promise<Alone['networks']> {
    const figures: Alone['networks'] = {};
    for (const plan of this.#plans) {
      const { name } = plan.network;
      const route = await this.#remote.route(plan, { bare: (this.#bare as Bare).tcpPort });
      try {
        const probe = [process.execPath, PROBE, route.host, String(route.ports.bare)];
        const [command = '', ...args] = [...this.#remote.within, ...probe];
        const { stdout } = await execa(command, args, { cancelSignal: this.#supervision.stop });
        const one = JSON.parse(stdout) as NetworkFigures;
        figures[name] = one;
        console.log(
          `alone       ${name.padEnd(9)} round trip ${ms(one.rtt_ms)} ms, ` +
            `${figure(one.up_mbit)} Mbit/s up, ${figure(one.down_mbit)} Mbit/s down`,
        );
      } finally {
        await route.close();
      }
    }
    return figures;
  }

  async #cell(file: StackFile, plan: Plan, alone: Alone): Promise<Result> {
    const route = await this.#remote.reach(plan, file);
    try {
      const labels = { TOPOLOGY: file.topology, NETWORK: plan.network.name };
      const runDir = newDirectory(join(RUNS, runName(SCRIPT, labels, new Date())));
      if (!this.#options.capacity) return resultOf(await this.#generate(runDir, labels), runDir);
      const { rate: start, highest, p99 } = this.#options;
      const bound = Math.min(highest, alone.generator, carries(alone.networks[plan.network.name]));
      const { run, rate, least } = await highestHeld({
        start,
        bound: Math.floor(bound),
        runDir,
        generate: (dir, rate) => this.#generate(dir, { ...labels, RATE: `${rate}`, P99: `${p99}` }, HOLD),
      });
      return { ...resultOf(run, runDir), rate, ...(least && { least }) };
    } finally {
      await route.close();
    }
  }

  /** One page for all runs, and what was measured before them beside it. */
  async #compare(began: Date, alone: Alone | undefined): Promise<void> {
    const dir = newDirectory(join(COMPARISONS, `matrix-${moment(began)}`));
    const { networks: _, ...asked } = this.#options;
    const networks = this.#plans.map((plan) => ({ ...plan.network, made: factsOf(plan) }));
    const runs = this.#results.map((result) => ({ ...result, dir: shortPath(result.dir) }));
    const figures = JSON.stringify({ ...asked, networks, alone, runs }, null, 2);
    await writeFile(join(dir, 'matrix.json'), `${figures}\n`);
    console.log(`figures     ${shortPath(join(dir, 'matrix.json'))}`);
    const dirs = this.#results.map((result) => result.dir);
    if (dirs.length > 1) await comparePage(join(dir, 'index.html'), dirs);
  }
}
