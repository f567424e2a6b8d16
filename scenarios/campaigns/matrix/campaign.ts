import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { commandOf } from '../../../pipeline/common/command.ts';
import { readConfig, StackConfig } from '../../../pipeline/common/config.ts';
import { ownDirectory } from '../../../pipeline/stack/directory.ts';
import { shortPath } from '../../../pipeline/stack/file.ts';
import { INTERRUPTED, onInterrupt } from '../../../pipeline/stack/interrupt.ts';
import { Stack } from '../../../pipeline/stack/stack.ts';
import { readRun } from '../../../reports/comparison/recording.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { COMPARISONS, moment, newDirectory, RUNS } from '../../../reports/directory.ts';
import { ms } from '../../../reports/page/format.ts';
import { type Lab, PIPELINE } from '../../lab/lab.ts';
import { factsOf, type Plan, wantsProxy } from '../../lab/networks.ts';
import { type Builders, openRoute, portOf, type Route, writeGeneratorStack } from '../../lab/route.ts';
import { Toxiproxy } from '../../lab/toxiproxy.ts';
import { runName } from '../../run/directory.ts';
import { ADDRESSES, cameToItsEnd, checkScript, K6Run } from '../../run/k6.ts';
import { comparePage } from '../../run/series.ts';
import { Bare, bottlenecks, carries, type NetworkFigures } from './baseline.ts';
import { highestHeld } from './hold.ts';
import type { Options, Topology } from './options.ts';
import { line, type Result, resultOf, table } from './table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = join(ROOT, 'scenarios/matrix.ts');
/** What says whether a rate is held. */
const HOLD = join(ROOT, 'scenarios/capacity.js');
/** s of the generator alone. */
const ALONE = 1;
/** s around the measured phase of a run: warm-up, k6's start and end; and s until a pipeline is up. For the estimate. */
const AROUND = 5;
const START = 4;

/** Measures what generator and networks do alone, then every cell, and compares. Returns the exit code. */
export async function campaign(
  options: Options,
  plans: readonly Plan[],
  lab: Lab | undefined,
): Promise<number> {
  const matrix = new Matrix(options, plans, lab);
  try {
    return await matrix.run();
  } catch (error) {
    if (matrix.stopped) return INTERRUPTED;
    throw error;
  } finally {
    await matrix.close();
  }
}

class Matrix {
  readonly #options: Options;
  readonly #plans: readonly Plan[];
  readonly #lab: Lab | undefined;
  /** Settings of the stack and of the generator. */
  readonly #dir = join(resolve(readConfig(StackConfig).STACK_DIR), 'matrix');
  readonly #stop = new AbortController();
  readonly #results: Result[] = [];
  /** Of generator and networks without the pipeline. */
  readonly #alone: { generator?: number; networks?: Record<string, NetworkFigures> } = {};
  #toxiproxy: Toxiproxy | undefined;
  #stack: Stack | undefined;
  #bare: Bare | undefined;
  #k6: K6Run | undefined;

  constructor(options: Options, plans: readonly Plan[], lab: Lab | undefined) {
    this.#options = options;
    this.#plans = plans;
    this.#lab = lab;
    onInterrupt(
      (signal) => {
        this.#stop.abort(new Error('interrupted'));
        this.#k6?.signal(signal);
      },
      () => {
        this.#k6?.signal('SIGKILL');
        this.#stack?.kill();
        process.exit(INTERRUPTED);
      },
    );
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async run(): Promise<number> {
    const { topologies, repeat, duration } = this.#options;
    await checkScript(SCRIPT, [], { ...process.env, ...ADDRESSES, ...this.#settings });
    await ownDirectory(this.#dir);
    if (this.#plans.some(wantsProxy)) this.#toxiproxy = await Toxiproxy.start(this.#dir);
    this.#bare = await Bare.start(this.#listen);
    const cells = topologies.length * this.#plans.length * repeat;
    const began = new Date();
    const alone = this.#alone;
    for (let round = 0; round < repeat; round++) {
      for (const topology of topologies) {
        await this.#startStack(topology);
        if (alone.generator === undefined) {
          alone.generator = await this.#generatorAlone();
          alone.networks = await this.#networksAlone();
          const reasons = bottlenecks(this.#options, alone.generator, alone.networks);
          if (reasons.length > 0) throw new Error(`the matrix is refused: ${reasons.join('\n')}`);
          const minutes = (cells * (duration + AROUND) + repeat * topologies.length * START) / 60;
          console.log(
            this.#options.capacity
              ? `matrix      ${cells} searches, each of some runs of ${duration} s`
              : `matrix      ${cells} runs of ${duration} s, about ${Math.ceil(minutes)} min`,
          );
        }
        for (const plan of this.#plans) await this.#cell(topology, plan, cells);
        await this.#stopStack();
      }
    }
    console.log(`\n${table(this.#results)}\n`);
    await this.#compare(began, alone);
    return this.#results.every(({ verdict, rate }) => (rate === undefined ? verdict === 'pass' : rate > 0))
      ? 0
      : 99;
  }

  /** Ends everything that is still there. */
  async close(): Promise<void> {
    this.#bare?.stop();
    await this.#stopStack();
    await this.#toxiproxy?.stop();
    await this.#lab?.clear().catch(() => {}); // it is about to vanish
  }

  get #listen() {
    return this.#lab === undefined ? '127.0.0.1' : '0.0.0.0';
  }

  get #within(): string[] {
    return this.#lab?.within('generator') ?? [];
  }

  get #builders(): Builders {
    return { lab: this.#lab, toxiproxy: this.#toxiproxy };
  }

  get #settings(): NodeJS.ProcessEnv {
    const { rate, duration, connections } = this.#options;
    return {
      RATE: String(rate),
      DURATION: String(duration),
      CONNECTIONS: String(connections),
      STACK_DIR: join(this.#dir, 'generator'),
    };
  }

  async #startStack(topology: Topology): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const ports = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', STACK_DIR: this.#dir };
    const config = readConfig(StackConfig, { ...process.env, ...ports, TOPOLOGY: topology });
    this.#stack = await Stack.start(config, {}, { listen: this.#listen });
    this.#stack.failed.then(() => this.#k6?.signal('SIGTERM'));
    this.#stop.signal.throwIfAborted();
  }

  async #stopStack(): Promise<void> {
    if (this.#stack === undefined) return;
    await rm(join(this.#dir, 'generator'), { recursive: true, force: true });
    await this.#stack.stop(0);
    this.#stack = undefined;
  }

  /** Rejects when a process of the pipeline has ended. */
  async #checkStack(): Promise<void> {
    const failure = await Promise.race([this.#stack?.failed, undefined]);
    if (failure !== undefined) throw failure;
  }

  /** Runs k6 in the generator's place, and returns what it left. */
  async #generate(runDir: string, env: NodeJS.ProcessEnv, script = SCRIPT): Promise<Run> {
    const all = {
      ...process.env,
      ...this.#settings,
      RUN_DIR: runDir,
      ARRIVAL_COMMAND: commandOf('', process.argv.slice(2), 'matrix'),
      ...env,
    };
    this.#k6 = new K6Run(script, [], all, 'errors', this.#within);
    const { code, signal } = await this.#k6.ended;
    this.#stop.signal.throwIfAborted();
    await this.#checkStack();
    if (!cameToItsEnd({ code, signal })) throw new Error(`k6 ended with ${signal ?? code}`);
    return readRun(runDir);
  }

  /** Requests per second against a server that answers 202 and does nothing, with no network between that is ours. */
  async #generatorAlone(): Promise<number> {
    const { file } = this.#stack as Stack;
    const [ingest, mqtt] = [(this.#bare as Bare).httpPort, portOf(file.mqtt.url)];
    const route = await this.#openDirectRoute({ ingest, mqtt });
    const plain = { ...file, ingest: { ...file.ingest, url: `http://127.0.0.1:${ingest}` } };
    await writeGeneratorStack(this.#dir, plain, route, undefined);
    const runDir = join(this.#dir, 'alone');
    const run = await this.#generate(runDir, { ALONE: 'true', DURATION: String(ALONE) });
    await rm(runDir, { recursive: true, force: true });
    const rate = run.account.requests.sent / (run.steps[0]?.duration_s ?? ALONE);
    console.log(`alone       generator ${Math.round(rate)} requests/s (a bare server that answers 202)`);
    return rate;
  }

  /** A route without emulation. */
  async #openDirectRoute(ports: Record<string, number>): Promise<Route> {
    await this.#lab?.clear();
    return { host: this.#lab === undefined ? '127.0.0.1' : PIPELINE, ports, close: async () => {} };
  }

  async #networksAlone(): Promise<Record<string, NetworkFigures>> {
    const figures: Record<string, NetworkFigures> = {};
    for (const plan of this.#plans) {
      const { name } = plan.network;
      const route = await openRoute(plan, this.#builders, { bare: (this.#bare as Bare).tcpPort });
      try {
        const probe = join(import.meta.dirname, 'probe.ts');
        const [command = '', ...args] = [
          ...this.#within,
          process.execPath,
          probe,
          route.host,
          String(route.ports.bare),
        ];
        const { stdout } = await execa(command, args, { cancelSignal: this.#stop.signal });
        const one = JSON.parse(stdout) as NetworkFigures;
        figures[name] = one;
        console.log(
          `alone       ${name.padEnd(9)} round trip ${ms(one.rtt_ms)} ms, ` +
            `${one.up_mbit.toFixed(0)} Mbit/s up, ${one.down_mbit.toFixed(0)} Mbit/s down`,
        );
      } finally {
        await route.close();
      }
    }
    return figures;
  }

  async #cell(topology: Topology, plan: Plan, cells: number): Promise<void> {
    const { file } = this.#stack as Stack;
    const ports = { ingest: portOf(file.ingest.url), mqtt: portOf(file.mqtt.url) };
    const route = await openRoute(plan, this.#builders, ports);
    try {
      await writeGeneratorStack(this.#dir, file, route, plan);
      await this.#checkStack();
      const labels = { TOPOLOGY: topology, NETWORK: plan.network.name };
      const runDir = newDirectory(join(RUNS, runName(SCRIPT, labels, new Date())));
      const result = this.#options.capacity
        ? await this.#capacity(plan, runDir, labels)
        : resultOf(await this.#generate(runDir, labels), runDir);
      this.#results.push(result);
      console.log(`${String(this.#results.length).padStart(4)} of ${cells}  ${line(result)}`);
    } finally {
      await route.close();
    }
  }

  async #capacity(plan: Plan, runDir: string, labels: NodeJS.ProcessEnv): Promise<Result> {
    const { rate: start, highest, p99 } = this.#options;
    const { generator = highest, networks = {} } = this.#alone;
    const { run, rate, least } = await highestHeld({
      start,
      bound: Math.floor(Math.min(highest, generator, carries(networks[plan.network.name]))),
      runDir,
      generate: (dir, rate) => this.#generate(dir, { ...labels, RATE: `${rate}`, P99: `${p99}` }, HOLD),
    });
    return { ...resultOf(run, runDir), rate, ...(least && { least }) };
  }

  /** One page for all runs, and what was measured before them beside it. */
  async #compare(began: Date, alone: object): Promise<void> {
    const dir = newDirectory(join(COMPARISONS, `matrix-${moment(began)}`));
    const { networks: _, ...asked } = this.#options;
    const networks = this.#plans.map((plan) => ({ ...plan.network, made: factsOf(plan) }));
    const runs = this.#results.map((result) => ({ ...result, dir: shortPath(result.dir) }));
    await writeFile(
      join(dir, 'matrix.json'),
      `${JSON.stringify({ ...asked, networks, alone, runs }, null, 2)}\n`,
    );
    console.log(`figures     ${shortPath(join(dir, 'matrix.json'))}`);
    if (this.#results.length < 2) return;
    await comparePage(
      join(dir, 'index.html'),
      this.#results.map((result) => result.dir),
    );
  }
}
