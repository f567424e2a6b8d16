/** Runs generators against a pipeline that is up, or that it starts for them. */
import { constants } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { isInstalled } from '../../pipeline/setup/packages.mjs';
import { ConfigError, type RunConfig, readConfig, StackConfig } from '../../pipeline/shared/config.ts';
import type { Ended, Generator } from '../../pipeline/stack/child.ts';
import { runningStack, type StackFile, shortPath } from '../../pipeline/stack/file.ts';
import { INTERRUPTED } from '../../pipeline/stack/interrupt.ts';
import { checkSettings } from '../../pipeline/stack/settings.ts';
import { Stack } from '../../pipeline/stack/stack.ts';
import { duration, plain } from '../../reports/format.ts';
import { type IO, print, warn } from './io.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The exit code as a shell reports it. */
export function exitCodeOf({ code, signal }: Ended): number {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}

/** Runs one generator at a time against one pipeline at a time. */
export interface Supervision {
  /** Opens a pipeline, and stops the one before. `open` gets {@link stop}. */
  use(open: (stop: AbortSignal) => Promise<Stack | undefined>): Promise<Stack | undefined>;
  launch(start: () => Generator): Promise<Ended>;
  /** Aborts when the user interrupts. */
  stop: AbortSignal;
}

/**
 * Lets `body` open pipelines and launch generators against them, and stops the last pipeline. A signal, or the end of the pipeline,
 * ends the running generator; none is launched after that. Rejects with the reason when the pipeline ended.
 * @returns the exit code
 */
export async function supervise(
  io: IO,
  body: (supervision: Supervision) => Promise<number>,
): Promise<number> {
  const abort = new AbortController();
  const { signal: stop } = abort;
  let current: Generator | undefined;
  let stack: Stack | undefined;
  io.onInterrupt(
    (signal) => {
      if (current === undefined) warn(io, 'stopping; Ctrl-C again stops at once');
      abort.abort();
      current?.signal(signal);
    },
    () => {
      current?.signal('SIGKILL');
      stack?.kill();
    },
  );
  const failed = () => Promise.race([stack?.failed, undefined]);
  // The run is over, so the queue need not drain.
  const end = async () => {
    await stack?.stop(0);
    stack = undefined;
  };
  const use: Supervision['use'] = async (open) => {
    await end();
    stop.throwIfAborted();
    stack = await open(stop);
    stack?.failed.then(() => current?.signal('SIGTERM'));
    return stack;
  };
  const launch = async (start: () => Generator) => {
    stop.throwIfAborted();
    const failure = await failed();
    if (failure !== undefined) throw failure;
    current = start();
    const ended = await current.ended;
    current = undefined;
    return ended;
  };
  let failure: Error | undefined;
  try {
    const code = await body({ use, launch, stop });
    failure = await failed();
    if (failure === undefined) return code;
  } catch (error) {
    if (stop.aborted) return INTERRUPTED;
    // The end of the pipeline is the cause of any other error.
    throw (await failed()) ?? error;
  } finally {
    await end();
  }
  throw failure;
}

/** {@link supervise} with the pipeline of the settings. */
export function against(
  config: RunConfig,
  env: NodeJS.ProcessEnv,
  io: IO,
  body: (supervision: Supervision) => Promise<number>,
): Promise<number> {
  return supervise(io, async (supervision) => {
    await supervision.use((stop) => openPipeline(config, env, io, stop));
    return body(supervision);
  });
}

/** The settings of a run whose topology is known. */
export type SettledRun = RunConfig & { TOPOLOGY: string };

/**
 * Sets the labels of the run: the settings, and the topology of our stack. Rejects when the stack that is up differs from
 * the settings.
 */
export async function settle(config: RunConfig, env: NodeJS.ProcessEnv): Promise<SettledRun> {
  const { TOPOLOGY, INGEST_URL } = config;
  if (INGEST_URL !== undefined) return { ...config, TOPOLOGY: TOPOLOGY ?? 'single' };
  const running = await usableStack(config);
  if (running === undefined) return { ...config, TOPOLOGY: readConfig(StackConfig, env).TOPOLOGY };
  checkSettings(resolve(config.STACK_DIR), running, env);
  return { ...config, TOPOLOGY: running.topology };
}

/** The stack that is up, if the run uses it. */
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

/**
 * Starts the pipeline of a run; undefined: the user's own, or one that is up.
 * @param stop ends the start
 */
export async function openPipeline(
  config: RunConfig,
  env: NodeJS.ProcessEnv,
  io: IO,
  stop: AbortSignal,
): Promise<Stack | undefined> {
  if (config.INGEST_URL !== undefined) return undefined;
  const running = await usableStack(config);
  if (running !== undefined) {
    print(io, `stack  using the pipeline that is up (pid ${running.pid}, ${running.topology})`);
    return undefined;
  }
  // The image of all commands has none.
  const lacking = ['redis-server', 'mosquitto'].filter((program) => !isInstalled(program));
  if (lacking.length === 2)
    throw new ConfigError(
      `INGEST_URL is not set, and ${lacking.join(' and ')} are not installed for a pipeline to start; allowed: INGEST_URL of your own pipeline, or npm run setup in a clone`,
    );
  const started = performance.now();
  const stack = await Stack.start(readConfig(StackConfig, env), {}, { temporary: true }, stop);
  const seconds = plain(duration((performance.now() - started) / 1000));
  print(io, `stack  ${Object.keys(stack.file.processes).join(', ')} … ready in ${seconds}`);
  return stack;
}

/** The environment that describes a run to its scenario. */
export function runEnvironment(
  config: SettledRun,
  env: NodeJS.ProcessEnv,
  runDir: string,
  command: string,
): NodeJS.ProcessEnv {
  return {
    ...env,
    RUN_DIR: runDir,
    ARRIVAL_COMMAND: command,
    TOPOLOGY: config.TOPOLOGY,
    NETWORK: config.NETWORK,
    ...(config.TLS_CA !== undefined && { TLS_CA: resolve(config.TLS_CA) }),
    // Scenarios resolve it from the repository's root.
    STACK_DIR: relative(ROOT, resolve(config.STACK_DIR)),
  };
}
