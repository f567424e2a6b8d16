import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { endGroup, leash } from './leash.ts';
import { atItsPriority, type Priorities, prioritiesOfRun, setSession } from './priority.ts';

const NONE: Priorities = new Map();

/** How a process ended: one of the two is null. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A load generator that runs as a process of its own. */
export interface Generator {
  /** Resolves when all that it printed was read; rejects when it cannot be started. */
  readonly ended: Promise<Ended>;
  signal(signal: NodeJS.Signals): void;
}

/**
 * A process in a group of its own: a Ctrl-C of the terminal reaches it once, by {@link signal}. It ends when this process does, even by
 * SIGKILL.
 */
export class Child implements Generator {
  readonly ended: Promise<Ended>;
  protected readonly child: ChildProcess;

  /**
   * @param command the program and its arguments
   * @param options.kind of a generator, for its priority; its environment says which
   */
  constructor(
    command: readonly string[],
    {
      env,
      stdio,
      cwd,
      kind = '',
    }: { env: NodeJS.ProcessEnv; stdio: StdioOptions; cwd?: string; kind?: string },
  ) {
    const priorities = kind === '' ? NONE : prioritiesOfRun(env);
    const [program = '', ...args] = [...atItsPriority(priorities, kind), ...command];
    const child = spawn(program, args, { env, stdio, cwd, detached: true });
    this.child = child;
    const { pid } = child;
    if (pid !== undefined) {
      leash.hold(pid);
      child.once('exit', () => leash.release(pid));
    }
    const prioritized = pid === undefined ? undefined : setSession(priorities, kind, pid);
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      prioritized?.catch((error) => {
        child.kill();
        reject(error);
      });
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  signal(signal: NodeJS.Signals): void {
    const { pid } = this.child;
    if (signal === 'SIGKILL' && pid !== undefined) endGroup(pid);
    else this.child.kill(signal);
  }
}
