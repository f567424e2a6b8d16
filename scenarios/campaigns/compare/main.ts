/** `npm run compare`: k6 and Artillery in turn, with the same profile, against one pipeline; wrk as a third. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { readFile } from '../../../extensions/artillery-plugin-arrival/options.ts';
import { findPipeline } from '../../../extensions/artillery-plugin-arrival/pipeline.ts';
import { commandOf } from '../../../pipeline/shared/command.ts';
import { ConfigError, RunConfig, readConfig, StackConfig } from '../../../pipeline/shared/config.ts';
import { isEntry } from '../../../pipeline/shared/entry.ts';
import { printFolded } from '../../../pipeline/shared/fold.ts';
import { printable } from '../../../pipeline/shared/printable.ts';
import { trust } from '../../../pipeline/shared/trust.ts';
import type { Generator } from '../../../pipeline/stack/child.ts';
import { explain } from '../../../pipeline/stack/explain.ts';
import { failures } from '../../../reports/account.ts';
import { comparisonOf } from '../../../reports/comparison/compare.ts';
import { comparisonTemplate, renderComparison } from '../../../reports/comparison/page.ts';
import { linkedFrom, readRun } from '../../../reports/comparison/recording.ts';
import { grouped } from '../../../reports/comparison/subjects.ts';
import { accountsText, additionText, outcomesText } from '../../../reports/comparison/text.ts';
import type { Run } from '../../../reports/contract/run.ts';
import { COMPARISONS, moment, newDirectory, RUNS } from '../../../reports/directory.ts';
import { overNetworks, refuseOwnPipeline } from '../../lab/around.ts';
import { Remote } from '../../lab/remote.ts';
import type { Route } from '../../lab/route.ts';
import {
  openPipeline,
  runEnvironment,
  type SettledRun,
  type Supervision,
  settle,
  supervise,
} from '../../run/against.ts';
import { ArtilleryRun, installed } from '../../run/artillery-run.ts';
import { type IO, print, runProcess, warn } from '../../run/io.ts';
import { K6Run } from '../../run/k6.ts';
import { RunOutputs } from '../../run/outputs.ts';
import { requests } from '../capacity/answer.ts';
import { agreementOf } from './agreement.ts';
import { findLimit, type Limit } from './limits.ts';
import { HELP, type Options, PROBE_SECONDS, readOptions } from './options.ts';
import { generatorsOf, reachOf } from './tools.ts';
import { hasWrk, type WrkFigures, WrkRun } from './wrk.ts';

const ROOT = join(import.meta.dirname, '../../..');
const RAMP = join(ROOT, 'scenarios/ramp.artillery.yml');
const TOOLS = ['k6', 'artillery'] as const;
type Tool = (typeof TOOLS)[number];
/** Least connections of each tool: k6's senders, Artillery's pool, wrk's. */
const CONNECTIONS = 64;

/** The command that compares. */
interface Command {
  argv: readonly string[];
  env: NodeJS.ProcessEnv;
  io: IO;
}

interface Load {
  /** Requests/s. */
  rate: number;
  /** The length of the phase before the measured one, s. */
  warmUp: number;
  duration: number;
}

/** Compares the tools, and returns the exit code of the command. */
export async function main(argv: readonly string[], env: NodeJS.ProcessEnv, io: IO): Promise<number> {
  const options = readOptions(argv);
  if (options === 'help') {
    printFolded(HELP, io.stdout);
    return 0;
  }
  const { network } = options;
  if (network !== undefined)
    refuseOwnPipeline('over a network the tools are compared at a pipeline of their own', env);
  const config = readConfig(RunConfig, env);
  if (config.INGEST_URL !== undefined && (config.MQTT_URL === undefined || config.REDIS_URL === undefined)) {
    throw new ConfigError('INGEST_URL is set; allowed: with MQTT_URL and REDIS_URL, which both tools need');
  }
  const bin = await installed(io);
  if (network === undefined) {
    const settled = await settle(config, env);
    trust(config.TLS_CA);
    return new Comparison(options, settled, bin, { argv, env, io }).run((use) =>
      use((stop) => openPipeline(settled, env, io, stop)),
    );
  }
  return overNetworks([network], 'auto', io, async (plans, lab) => {
    const remote = new Remote('compare', lab, env);
    const { TOPOLOGY } = readConfig(StackConfig, env);
    const settled = { ...config, TOPOLOGY, NETWORK: network.name, STACK_DIR: remote.generatorDir };
    let route: Route | undefined;
    try {
      const own = new Comparison(options, settled, bin, { argv, env, io }, remote.within);
      return await own.run(async (use) => {
        await remote.prepare(plans);
        const stack = await use(() => remote.start());
        route = stack && (await remote.reach(plans[0], stack.file));
      });
    } finally {
      await route?.close();
      await remote.close();
    }
  });
}

class Comparison {
  readonly #options: Options;
  readonly #config: SettledRun;
  /** Artillery. */
  readonly #bin: string;
  /** The command prefix that runs a tool. */
  readonly #within: readonly string[];
  readonly #outputs: RunOutputs;
  readonly #command: Command;
  readonly #stamp = moment();
  readonly #dir: string;

  constructor(
    options: Options,
    config: SettledRun,
    bin: string,
    command: Command,
    within: readonly string[] = [],
  ) {
    this.#options = options;
    this.#config = config;
    this.#bin = bin;
    this.#command = command;
    this.#outputs = new RunOutputs(command.io);
    this.#within = within;
    this.#dir = newDirectory(join(COMPARISONS, `tools-${options.rate}-${config.NETWORK}-${this.#stamp}`));
  }

  /**
   * @param open opens the pipeline
   * @returns the exit code
   */
  async run(open: (use: Supervision['use']) => Promise<unknown>): Promise<number> {
    const { rate, duration, repeat, most, network } = this.#options;
    const { TOPOLOGY, NETWORK } = this.#config;
    const { io } = this.#command;
    return supervise(io, async ({ use, launch, stop }) => {
      await open(use);
      /** Runs a tool, and returns its run. */
      const one = async (tool: Tool, load: Load, runDir: string) => {
        const start = await this.#prepare(tool, load, runDir);
        await launch(start);
        const run = existsSync(join(runDir, 'run.json')) ? await readRun(runDir) : undefined;
        if (run !== undefined && run.run.ended !== null && run.verdict.result !== 'incomplete') return run;
        stop.throwIfAborted();
        throw new Error(
          `${tool} left no complete report at ${requests(load.rate)}, so there is nothing to compare`,
        );
      };
      const dirs: string[] = [];
      const runs: Run[] = [];
      for (let i = 0; i < 2 * repeat; i++) {
        const tool = TOOLS[i % 2] as Tool;
        const name = `compare-${tool}-${TOPOLOGY}-${NETWORK}-${this.#stamp}-${i + 1}`;
        const runDir = newDirectory(join(RUNS, name));
        dirs.push(runDir);
        print(io, `run    ${i + 1} of ${2 * repeat}, ${tool}, ${requests(rate)} for ${duration} s`);
        runs.push(await one(tool, { rate, duration, warmUp: 10 }, runDir));
      }
      const limits: Limit[] = [];
      for (const tool of most === 0 ? [] : TOOLS) {
        let probes = 0;
        const probe = async (at: number) => {
          print(io, `probe  ${tool}, ${requests(at)} for ${PROBE_SECONDS} s`);
          const runDir = join(this.#dir, 'probes', `${tool}-${at}-${++probes}`);
          return one(tool, { rate: at, duration: PROBE_SECONDS, warmUp: 3 }, runDir);
        };
        limits.push(await findLimit(tool, rate, most, probe));
      }
      const wrk = network === undefined && hasWrk() ? await this.#post(launch) : undefined;
      return this.#report(runs, dirs, limits, wrk);
    });
  }

  /** Writes the load's profile, and returns a function that starts the tool with it. */
  async #prepare(tool: Tool, load: Load, runDir: string): Promise<() => Generator> {
    const { phases, flows } = profileOf(load);
    const profile = join(this.#dir, `profile-${load.rate}.yml`);
    await writeFile(profile, stringify({ phases, flows }));
    const { argv, io } = this.#command;
    const command = commandOf('', argv, 'compare', { env: this.#command.env });
    const env = runEnvironment(this.#config, this.#command.env, runDir, command);
    // Twice as many as are in flight over the network.
    const roundTrip = (2 * (this.#options.network?.delay ?? 0)) / 1000;
    const connections = Math.max(CONNECTIONS, Math.ceil(2 * load.rate * roundTrip));
    if (tool === 'k6') {
      const own = { PROFILE: profile, P99: '60000', SENDERS: String(connections) };
      const all = { ...env, ...own };
      const { args, env: more } = this.#outputs.next(all);
      const script = join(ROOT, 'scenarios/ramp.js');
      const printError = (line: string) => warn(io, line);
      return () => new K6Run(script, args, { ...all, ...more }, 'errors', this.#within, printError);
    }
    const config = {
      phases: phases.map(({ measured: _, ...phase }) => phase),
      http: { pool: connections },
      plugins: { arrival: { profile } },
    };
    const args = ['run', '--quiet', '--overrides', JSON.stringify({ config }), RAMP];
    return () => new ArtilleryRun(this.#bin, args, env, this.#within);
  }

  /** Runs wrk, last: the messages that it leaves in the queue would delay the other tools. */
  async #post(launch: (start: () => WrkRun) => Promise<unknown>): Promise<WrkFigures | undefined> {
    const pipeline = await findPipeline(this.#command.env);
    const seconds = Math.min(this.#options.duration, 10);
    print(this.#command.io, `run    wrk, as fast as it is answered, for ${seconds} s`);
    let run: WrkRun | undefined;
    await launch(() => {
      run = new WrkRun(pipeline, CONNECTIONS, seconds);
      return run;
    });
    return run?.figures;
  }

  /**
   * Prints the tables, and writes them and the page.
   * @returns the exit code
   */
  async #report(runs: Run[], dirs: string[], limits: Limit[], wrk: WrkFigures | undefined): Promise<number> {
    const { agree, shown } = agreementOf(runs);
    const reach = reachOf(limits, wrk);
    const additions = [shown, ...(reach ? [reach] : []), generatorsOf(runs)];
    const recordings = await Promise.all(dirs.map((dir) => linkedFrom(this.#dir, dir)));
    // Also compares runs with failed messages; the accounts on top show these.
    const comparison = { ...comparisonOf(grouped(recordings, false), { allowFailed: true }), additions };
    const answer = [...outcomesText(comparison), ...accountsText(comparison.subjects)].map(printable);
    const text = [answer.join('\n'), ...additions.map(additionText)].join('\n\n');
    print(this.#command.io, `\n${text}\n`);
    await writeFile(join(this.#dir, 'tools.txt'), `${text}\n`);
    const page = join(this.#dir, 'index.html');
    await writeFile(page, renderComparison(comparison, await comparisonTemplate()));
    print(this.#command.io, `report  ${relative('', page)}`);
    const sound = runs.every(({ account }) => account.balanced);
    const agreed = agree === true && runs.every(({ account }) => failures(account) === null);
    return sound && (agreed || !this.#options.mustAgree) ? 0 : 1;
  }
}

/** A profile with the names that scenarios/ramp.js may override. */
function profileOf({ rate, duration, warmUp }: Load) {
  const { flows } = readFile(join(ROOT, 'scenarios/profiles/ramp.yml'));
  const phases = [
    { name: 'warm-up', duration: warmUp, arrivalRate: rate, measured: false },
    { name: 'ramp', duration: 1, arrivalRate: rate, measured: false },
    { name: 'sustained', duration, arrivalRate: rate, measured: true },
  ];
  return { phases, flows };
}

if (isEntry(import.meta)) {
  runProcess((argv, env, io) =>
    main(argv, env, io).catch((error: Error) => {
      if (!(error instanceof ConfigError)) throw error;
      explain(error);
      return 2;
    }),
  );
}
