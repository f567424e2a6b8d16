import { type Affinity, onItsCpus } from './affinity.ts';
import type { Launch } from './launch.ts';
import { atItsPriority, type Priorities, setSession } from './priority.ts';
import { ProcessFailure, type Started, Supervised } from './process.ts';

/** How the processes of a stack are started. */
export interface ProcessesOptions {
  affinity: Affinity;
  priorities: Priorities;
  /** Where their logs are written. */
  logs: string;
  /** Within which each has to print that it is ready. */
  readyMs: number;
  /** A process printed a line. */
  onLine?: ((process: string, line: string) => void) | undefined;
}

/** The processes of a stack, in the order in which they were started. */
export class Processes {
  /** Resolves when one ended that was not asked to, before the first was. */
  readonly failed: Promise<ProcessFailure>;
  readonly #failure = Promise.withResolvers<ProcessFailure>();
  readonly #options: ProcessesOptions;
  readonly #all: Supervised[] = [];
  #ending = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
    this.failed = this.#failure.promise;
  }

  /** On its CPUs and with its priority. Resolves when the process has printed a line like this. */
  async start(launch: Launch, readyLine: RegExp): Promise<Started> {
    const { affinity, priorities, logs, readyMs, onLine } = this.#options;
    const kind = kindOf(launch.name);
    const words = [...atItsPriority(priorities, kind), ...onItsCpus(affinity, kind)];
    const [command, ...args] = [...words, launch.command, ...launch.args] as [string, ...string[]];
    const process = await Supervised.start({ ...launch, command, args }, { logs, ...(onLine && { onLine }) });
    this.#all.push(process);
    process.ended.then((how) => {
      if (!process.stopped && !this.#ending) this.#failure.resolve(new ProcessFailure(process, how));
    });
    await setSession(priorities, kind, process.pid);
    return { process, ready: await process.says(readyLine, readyMs) };
  }

  /** By name. */
  get pids(): Record<string, number> {
    return Object.fromEntries(this.#all.map(({ name, pid }) => [name, pid]));
  }

  /** By name, those of some kinds. */
  pidsOf(kinds: readonly string[]): Record<string, number> {
    return Object.fromEntries(Object.entries(this.pids).filter(([name]) => kinds.includes(kindOf(name))));
  }

  /** None has ended that was not asked to. */
  get whole(): boolean {
    return this.#all.every(({ alive, stopped }) => alive || stopped);
  }

  /** Asks all of a kind to end, and makes them after `graceMs`. */
  async stop(kind: string, graceMs?: number): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#all.filter(({ name }) => kindOf(name) === kind).map((p) => p.stop(graceMs)));
  }

  /** Ends them all now. */
  kill(): void {
    for (const process of this.#all) process.signal('SIGKILL');
  }
}

/** `relay-1` is a relay. */
function kindOf(name: string): string {
  return name.replace(/-\d+$/, '');
}
