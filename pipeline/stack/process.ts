import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { levelOf } from '../common/log.ts';
import { within } from '../common/within.ts';
import { type Affinity, onItsCpus } from './affinity.ts';
import { DAEMON_PATH, type Launch } from './launch.ts';
import { endGroup, leash } from './leash.ts';
import { atItsPriority, type Priorities, setSession } from './priority.ts';

const KEPT_LINES = 20;
/** pino's level. */
const WARNING = 40;

interface SupervisedOptions {
  /** The directory of `<name>.log`. */
  logs: string;
  /** Called with each line that the process prints. */
  onLine?: (name: string, line: string) => void;
}

/** A process ended, or did not become ready. The message is one line; `lastLines` have the reason. */
export class ProcessFailure extends Error {
  readonly process: string;
  readonly lastLines: readonly string[];

  constructor(process: Supervised, what: string) {
    super(`${process.name} ${what}`);
    this.process = process.name;
    this.lastLines = process.lastLines;
  }
}

/** A process that is ready. */
export interface Started {
  process: Supervised;
  ready: RegExpExecArray;
}

/** A process that the stack starts and stops. */
export class Supervised {
  readonly name: string;
  readonly pid: number;
  /** Resolves with how the process ended, after its whole output was read. */
  readonly ended: Promise<string>;
  /** The last 20 lines it printed. */
  readonly lastLines: string[] = [];
  /** It was asked to end. */
  stopped = false;
  readonly #child: ChildProcess;
  readonly #stopSignal: NodeJS.Signals;

  /** Rejects when the program is not installed. */
  static async start(launch: Launch, options: SupervisedOptions): Promise<Supervised> {
    // Only this user may read its files, like Redis' data.
    const mask = process.umask(0o077);
    const child = spawn(launch.command, launch.args, {
      env: { ...process.env, ...launch.env, PATH: DAEMON_PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
      // It has its own process group: Ctrl-C reaches only the supervisor, which stops the processes in order.
      detached: true,
    });
    process.umask(mask);
    try {
      await once(child, 'spawn');
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw new Error(
        missing ? `${launch.command} is not installed: npm run setup installs it` : (error as Error).message,
      );
    }
    return new Supervised(launch, child, options);
  }

  private constructor(launch: Launch, child: ChildProcess, { logs, onLine }: SupervisedOptions) {
    const { name, stopSignal = 'SIGTERM' } = launch;
    this.name = name;
    this.#child = child;
    this.#stopSignal = stopSignal;
    this.pid = child.pid as number;
    leash.hold(this.pid);
    child.once('exit', () => leash.release(this.pid));
    const file = join(logs, `${name}.log`);
    const log = createWriteStream(file, { mode: 0o600 });
    // A full disk ends the log, not the pipeline.
    log.once('error', (error) => console.error(`${file} has gaps: ${error.message}`));
    log.on('error', () => {});
    const keep = (line: string) => {
      log.write(`${line}\n`);
      this.lastLines.push(line);
      if (this.lastLines.length > KEPT_LINES) this.lastLines.shift();
      onLine?.(name, line);
    };
    createInterface(child.stdout as Readable).on('line', keep);
    createInterface(child.stderr as Readable).on('line', keep);
    this.ended = closed(child, log);
  }

  /**
   * Resolves with the match when the process prints such a line; rejects when it ends first, or after `withinMs`.
   */
  async says(pattern: RegExp, withinMs: number): Promise<RegExpExecArray> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      for (const line of this.lastLines) {
        const match = pattern.exec(line);
        if (match) return match;
      }
      if (!this.alive) throw new ProcessFailure(this, await this.ended);
      if (Date.now() > deadline)
        throw new ProcessFailure(this, `is not ready after ${withinMs} ms${this.#complaint()}`);
      await sleep(5);
    }
  }

  /** The last warning of one of our processes: it has the cause. Servers of others have no levels. */
  #complaint(): string {
    const line = this.lastLines.findLast((line) => (levelOf(line) ?? 0) >= WARNING);
    return line === undefined ? '' : `: ${JSON.parse(line).msg}`;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends a signal to the process, SIGKILL to its whole group. */
  signal(signal: NodeJS.Signals): void {
    if (!this.alive) return;
    if (signal === 'SIGKILL') endGroup(this.pid);
    else this.#child.kill(signal);
  }

  /** Asks the process to end, and kills it after `graceMs`. Resolves when it is gone. */
  async stop(graceMs = 5000): Promise<void> {
    this.stopped = true;
    this.signal(this.#stopSignal);
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(timer);
  }
}

async function closed(child: ChildProcess, log: WriteStream): Promise<string> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  log.end();
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
}

/** Options of the processes of a stack. */
interface ProcessesOptions {
  affinity: Affinity;
  priorities: Priorities;
  /** The directory of their logs. */
  logs: string;
  /** ms for each to become ready. */
  readyMs: number;
  /** Called with each line of a process. */
  onLine?: ((process: string, line: string) => void) | undefined;
}

/** The processes of a stack, in the order in which they were started. */
export class Processes {
  /** Resolves with the first process that ends unasked, before any is stopped. */
  readonly failed: Promise<ProcessFailure>;
  readonly #failure = Promise.withResolvers<ProcessFailure>();
  readonly #options: ProcessesOptions;
  readonly #all: Supervised[] = [];
  #ending = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
    this.failed = this.#failure.promise;
  }

  /** Starts a process with its CPUs and priority. Resolves when it has printed such a line. */
  async start(launch: Launch, readyLine: RegExp): Promise<Started> {
    const { affinity, priorities, logs, readyMs, onLine } = this.#options;
    this.#refuseWhenEnding(launch);
    const kind = kindOf(launch.name);
    const words = [...atItsPriority(priorities, kind), ...onItsCpus(affinity, kind)];
    const [command, ...args] = [...words, launch.command, ...launch.args] as [string, ...string[]];
    const process = await Supervised.start({ ...launch, command, args }, { logs, ...(onLine && { onLine }) });
    this.#all.push(process);
    if (this.#ending) await process.stop(0);
    this.#refuseWhenEnding(launch);
    process.ended.then((how) => {
      if (!process.stopped && !this.#ending) this.#failure.resolve(new ProcessFailure(process, how));
    });
    await setSession(priorities, kind, process.pid);
    return { process, ready: await process.says(readyLine, readyMs) };
  }

  /** An interrupted start starts nothing more. */
  #refuseWhenEnding({ name }: Launch): void {
    if (this.#ending) throw new Error(`${name} is not started: the pipeline stops`);
  }

  /** Pids by name. */
  get pids(): Record<string, number> {
    return Object.fromEntries(this.#all.map(({ name, pid }) => [name, pid]));
  }

  /** Pids of some kinds, by name. */
  pidsOf(kinds: readonly string[]): Record<string, number> {
    return Object.fromEntries(Object.entries(this.pids).filter(([name]) => kinds.includes(kindOf(name))));
  }

  /** Whether no process has ended unasked. */
  get whole(): boolean {
    return this.#all.every(({ alive, stopped }) => alive || stopped);
  }

  /** Asks all of a kind to end, and kills them after `graceMs`. */
  async stop(kind: string, graceMs?: number): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#all.filter(({ name }) => kindOf(name) === kind).map((p) => p.stop(graceMs)));
  }

  /** Kills all processes, and starts no others. */
  kill(): void {
    this.#ending = true;
    for (const process of this.#all) process.signal('SIGKILL');
  }
}

/** The kind of a process: `relay` for `relay-1`. */
function kindOf(name: string): string {
  return name.replace(/-\d+$/, '');
}

const LOOK_MS = 100;

/**
 * Waits until a queue is empty, `withinMs` at most. A look that fails says nothing: Redis may be away for a moment.
 * @param canEmpty whether somebody still empties it
 */
export async function drained(
  depth: () => Promise<number>,
  canEmpty: () => boolean,
  withinMs: number,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline && canEmpty()) {
    if ((await within(deadline - performance.now(), depth())) === 0) return;
    await sleep(LOOK_MS);
  }
}
