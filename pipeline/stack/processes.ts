import { type Affinity, onItsCpus } from './affinity.ts';
import type { Launch } from './launch.ts';
import { atItsPriority, type Priorities, setSession } from './priority.ts';
import { ProcessFailure, type Started, Supervised } from './process.ts';

/** Options of the processes of a stack. */
export interface ProcessesOptions {
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
