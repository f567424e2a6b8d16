import { constants as access, accessSync, existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { commandOf } from '../../pipeline/common/command.ts';
import { ConfigError, RunConfig, readConfig, StackConfig } from '../../pipeline/common/config.ts';
import { isEntry } from '../../pipeline/common/entry.ts';
import { trust } from '../../pipeline/common/trust.ts';
import type { Ended, Generator } from '../../pipeline/stack/child.ts';
import { exitAfter, explain } from '../../pipeline/stack/explain.ts';
import { runningStack, type StackFile, shortPath } from '../../pipeline/stack/file.ts';
import { onInterrupt } from '../../pipeline/stack/interrupt.ts';
import { checkSettings } from '../../pipeline/stack/settings.ts';
import { Stack } from '../../pipeline/stack/stack.ts';
import type { Run } from '../../reports/contract/run.ts';
import { moment, newDirectory, RUNS } from '../../reports/directory.ts';
import { every, withoutBroker } from '../lib/declarations.js';
import { Instances, MOST, mergeInstances, newRunId, segmentsOf } from './instances.ts';
import { checkScript, K6Run, variablesOf, withoutVariables } from './k6.ts';
import { Progress } from './progress.ts';
import { countFlag, repeated } from './series.ts';
import { checkVariables, declaredBy, linesOf, scenariosIn, usageOf, variablesIn } from './usage.ts';

const ROOT = join(import.meta.dirname, '../..');

/** For the check of the script, which wants addresses before the pipeline has any. Nothing connects to them. */
export const ADDRESSES = {
  INGEST_URL: 'http://127.0.0.1:1',
  MQTT_URL: 'mqtt://127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:1',
  BROKER_URL: 'mqtt://127.0.0.1:1',
  QUEUE_URL: 'redis://127.0.0.1:1',
};

const HELP = `Runs a scenario against the pipeline and leaves a report in reports/runs/.

  npm run scenario -- scenarios/<script> [<k6 flags>]
  npm run ramp [-- <k6 flags>]               also smoke, sweep, fixed, spike, soak

  --repeat <n>      n runs, each from the start, a table with the spread of each figure, and a page that compares them
  --wide            the table of the phases with the CPU of each kind of process: more than a hundred columns
  --instances <n>   so many k6 do the run together, each a segment of it, and are merged: what n hosts would do

It uses the pipeline that \`npm run pipeline\` has up, else it starts one and stops it afterwards.
The exit code is 0 when the run passes and 99 when it does not, or another one of k6's own; scenarios/README.md has them.

Environment
  INGEST_URL, INGEST_TOKEN, MQTT_URL, REDIS_URL   a pipeline of your own: nothing is started
  MQTT_URL, REDIS_URL without INGEST_URL          servers of your own for the pipeline that is started
  TLS=true                                        the pipeline that is started speaks TLS
  TLS_CA                                          a file of authorities to trust for servers of your own, PEM
  CPU_AFFINITY          which CPUs k6 may run on, k6=1, and the processes of the pipeline that is started
  TOPOLOGY (single)     single, or cluster: nginx before several ingests; with INGEST_URL, any label
  NETWORK (loopback)    how the run is labelled
  NO_COLOR              any value: no colours
The pipeline that is started reads what \`npm run pipeline -- --help\` lists, like QUEUE and RELAY_WINDOW.
`;

/** Of one scenario, or with which there are. */
function help(script: string | undefined): string {
  const shared = `Settings of every scenario\n${linesOf(every())}\n`;
  if (script !== undefined && existsSync(script)) return `${HELP}\n${usageOf(script)}\n\n${shared}`;
  return `${HELP}\n${shared}\nScenarios; --help behind one lists its settings\n${scenariosIn(join(ROOT, 'scenarios'))}\n`;
}

async function main(): Promise<number> {
  const [script, ...given] = process.argv.slice(2);
  if (script === undefined || [script, ...given].some((arg) => arg === '--help' || arg === '-h')) {
    console.log(help([script, ...given].find((arg) => arg !== undefined && !arg.startsWith('-'))));
    return script === undefined ? 1 : 0;
  }
  const { count: times, args: once } = countFlag(
    '--repeat',
    20,
    given.filter((arg) => arg !== '--wide'),
  );
  const { count: instances, args } = countFlag('--instances', MOST, once);
  if (given.includes('--wide')) process.env.ARRIVAL_WIDE = 'true';
  checkVariables(script, args);
  const command = commandOf(script, given, process.env.npm_lifecycle_event, {
    env: process.env,
    names: variablesIn(script),
  });
  Object.assign(process.env, variablesOf(args)); // for k6, and for the pipeline too
  const config = await settle(readConfig(RunConfig));
  // Where samples are asked for, the pipeline that is started leaves them: one message in a hundred, unless it is told otherwise.
  if (process.env.SAMPLED === 'true') process.env.TRACE_LOG_EVERY ||= '100';
  const alone = declaredBy(script) !== undefined && withoutBroker.includes(basename(script, '.js'));
  if (config.INGEST_URL !== undefined && config.MQTT_URL === undefined && !alone) {
    throw new ConfigError(
      `MQTT_URL is not set, and INGEST_URL is; allowed: both, as messages must arrive somewhere, or ${withoutBroker.join(', ')}, which measure HTTP alone`,
    );
  }
  if (times > 1) return repeated(script, runName(script, config, new Date()).replace(/-.*/, ''), once, times);
  trust(config.TLS_CA);
  return inRunDirectory(process.env.RUN_DIR, runName(script, config, new Date()), (runDir) =>
    runScript(
      script,
      withoutVariables(args),
      instances,
      config,
      runEnvironment(config, runDir, command),
      runDir,
    ),
  );
}

/** @returns the exit code */
async function runScript(
  script: string,
  args: string[],
  instances: number,
  config: SettledRun,
  env: NodeJS.ProcessEnv,
  runDir: string,
): Promise<number> {
  // The last of several has the smallest share.
  const segment = instances > 1 ? segmentsOf(instances).at(-1) : undefined;
  const told = await checkScript(script, args, { ...ADDRESSES, ...env, RUN_ID: newRunId() }, segment);
  const shows = told && !args.some((arg) => arg === '-q' || arg === '--quiet');

  return against(config, async (launch) => {
    const trusting = { ...env, ...authorities(config) };
    const progress = shows ? new Progress(runDir) : undefined;
    const ended = await launch(() =>
      instances === 1
        ? new K6Run(script, shows ? ['-q', ...args] : args, trusting)
        : new Instances(script, args, trusting, instances),
    ).finally(() => progress?.stop());
    const report = join(runDir, 'index.html');
    const passed = await (instances === 1 ? hasPassed(runDir) : mergeInstances(runDir));
    if (ended.signal !== null) {
      const left = existsSync(report) ? `its report is ${shortPath(report)}` : 'it left no report';
      console.error(`k6 was killed by ${ended.signal}: the run is incomplete, ${left}`);
    }
    return exitCodeOf(ended) || (passed ? 0 : NOT_PASSED);
  });
}

/** As k6 says it where a threshold is crossed: k6 may have been told to judge none, and knows nothing of a whole of several instances. */
const NOT_PASSED = 99;

/** Whether a run passes; its script may have left none. */
async function hasPassed(runDir: string): Promise<boolean> {
  const text = await readFile(join(runDir, 'run.json'), 'utf8').catch(() => undefined);
  return text === undefined || (JSON.parse(text) as Run).verdict.result === 'pass';
}

/**
 * The authority of a pipeline of ours that is up and speaks TLS. Modules that k6 has of its own trust whom this names, in the place of
 * the system's authorities.
 */
function authorities({ STACK_DIR, INGEST_URL, REDIS_URL, MQTT_URL }: RunConfig): NodeJS.ProcessEnv {
  const file = join(resolve(STACK_DIR), 'tls/ca.pem');
  const ours = INGEST_URL === undefined && REDIS_URL === undefined && MQTT_URL === undefined;
  return ours && existsSync(file) ? { SSL_CERT_FILE: file } : {};
}

/** Of a command that was interrupted, as a shell says it. */
const INTERRUPTED = 128 + constants.signals.SIGINT;

/** As a shell says it. */
export function exitCodeOf({ code, signal }: Ended): number {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}

/** Somebody has interrupted: nothing more is to be done. */
export class Interrupted extends Error {}

/**
 * Opens the pipeline that is needed, lets `body` launch generators against it, one at a time, and stops what it has opened.
 * A signal and the end of the pipeline reach the generator that runs, and none is launched after that. Why the pipeline ended is told.
 * @param body is told by `stop` whether somebody has interrupted
 * @param open another pipeline than the one of the settings
 * @returns the exit code
 */
export async function against(
  config: RunConfig,
  body: (launch: (start: () => Generator) => Promise<Ended>, stop: AbortSignal) => Promise<number>,
  open: () => Promise<Stack | undefined> = () => openPipeline(config),
): Promise<number> {
  const stop = new AbortController();
  let current: Generator | undefined;
  let stack: Stack | undefined;
  onInterrupt(
    (signal) => {
      stop.abort();
      current?.signal(signal);
    },
    () => {
      current?.signal('SIGKILL');
      stack?.kill();
      process.exit(1);
    },
  );
  stack = await open();
  stack?.failed.then(() => current?.signal('SIGTERM'));
  const failed = () => Promise.race([stack?.failed, undefined]);
  try {
    const code = await body(async (start) => {
      if (stop.signal.aborted) throw new Interrupted();
      const failure = await failed();
      if (failure !== undefined) throw failure;
      current = start();
      const ended = await current.ended;
      current = undefined;
      return ended;
    }, stop.signal);
    const failure = await failed();
    if (failure === undefined) return code;
    explain(failure);
    return 1;
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED;
    // Whatever else went wrong came of it.
    throw (await failed()) ?? error;
  } finally {
    // The run is over: nobody waits for what may still be in the queue.
    await stack?.stop(0);
  }
}

/** The settings of a run whose topology is known. */
export type SettledRun = RunConfig & { TOPOLOGY: string };

/**
 * Says what the run is labelled with: what is asked for, and with a stack of ours what that is. Rejects where the
 * stack that is up is another than the settings ask for.
 */
export async function settle(config: RunConfig): Promise<SettledRun> {
  const { TOPOLOGY, INGEST_URL } = config;
  if (INGEST_URL !== undefined) return { ...config, TOPOLOGY: TOPOLOGY ?? 'single' };
  const running = await usableStack(config);
  if (running === undefined) return { ...config, TOPOLOGY: readConfig(StackConfig).TOPOLOGY };
  checkSettings(resolve(config.STACK_DIR), running);
  return { ...config, TOPOLOGY: running.topology };
}

/** The stack that is up, if the run is to use it. */
async function usableStack({ STACK_DIR, REDIS_URL, MQTT_URL }: RunConfig): Promise<StackFile | undefined> {
  if (REDIS_URL !== undefined || MQTT_URL !== undefined) return undefined;
  const running = await runningStack(resolve(STACK_DIR));
  if (running?.temporary) {
    throw new ConfigError(
      `the pipeline in ${shortPath(STACK_DIR)} (pid ${running.pid}) is another run's, and ends with it: wait for that, or have one for several runs up with npm run pipeline`,
    );
  }
  return running;
}

/** What a scenario is told of its run, by the environment. */
export function runEnvironment(config: SettledRun, runDir: string, command: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    RUN_DIR: runDir,
    ARRIVAL_COMMAND: command,
    TOPOLOGY: config.TOPOLOGY,
    NETWORK: config.NETWORK,
    ...(config.TLS_CA !== undefined && { TLS_CA: resolve(config.TLS_CA) }),
    // The scenarios look for it from the repository's root.
    STACK_DIR: relative(ROOT, resolve(config.STACK_DIR)),
  };
}

/** The pipeline that the run needs: somebody's own or one that is up (undefined), or one that we start. */
export async function openPipeline(config: RunConfig): Promise<Stack | undefined> {
  if (config.INGEST_URL !== undefined) return undefined;
  const running = await usableStack(config);
  if (running !== undefined) {
    console.log(`stack  using the pipeline that is up (pid ${running.pid}, ${running.topology})`);
    return undefined;
  }
  const started = performance.now();
  const stack = await Stack.start(readConfig(StackConfig), {}, { temporary: true });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`stack  ${Object.keys(stack.file.processes).join(', ')} … ready in ${seconds} s`);
  return stack;
}

/**
 * Does a run in the directory that is asked for, which has to be new or empty, or in one of this name below reports/runs/, which nobody
 * else has, and which is gone again when nothing was left in it.
 */
export async function inRunDirectory<T>(
  asked: string | undefined,
  name: string,
  run: (runDir: string) => Promise<T>,
): Promise<T> {
  const there = asked && existsSync(asked);
  const own = asked ? emptyDirectory(resolve(asked)) : newDirectory(join(RUNS, name));
  try {
    return await run(own);
  } finally {
    if (!there && readdirSync(own).length === 0) rmdirSync(own);
  }
}

/** Node's own, with `recursive`, comes to no end below /proc. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  mkdirSync(path);
}

/** Makes the directory that RUN_DIR names, where it is not there. @returns its path */
function emptyDirectory(path: string): string {
  const refused = (why: string) =>
    new ConfigError(`RUN_DIR is ${shortPath(path)}, ${why}; allowed: a directory that is new or empty`);
  try {
    makeDirectory(path);
    accessSync(path, access.W_OK);
  } catch (error) {
    throw refused(`which cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  if (readdirSync(path).length > 0) throw refused('and there is something in it');
  return path;
}

/** `<method>-<topology>-<network>-<time>`, the directory below reports/runs/. */
export function runName(
  script: string,
  { TOPOLOGY, NETWORK }: { TOPOLOGY: string; NETWORK: string },
  now: Date,
): string {
  const method = basename(script).replace(/(\.artillery)?\.\w+$/, '');
  return `${method}-${TOPOLOGY}-${NETWORK}-${moment(now)}`;
}

if (isEntry(import.meta)) {
  exitAfter(main());
}
