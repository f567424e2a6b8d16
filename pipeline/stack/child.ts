import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { endGroup, leash } from './leash.ts';
import { atItsPriority, type Priorities, prioritiesOfRun, setSession } from './priority.ts';

const NONE: Priorities = new Map();

/** The end of a process: one of the two is null. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A load generator in its own process. */
export interface Generator {
  /** Resolves when its whole output was read; rejects when it cannot be started. */
  readonly ended: Promise<Ended>;
  signal(signal: NodeJS.Signals): void;
}

/**
 * A process in its own group, so that Ctrl-C reaches it once, by {@link signal}. It ends with this process, even by SIGKILL.
 */
export class Child implements Generator {
  readonly ended: Promise<Ended>;
  protected readonly child: ChildProcess;

  /**
   * @param command the program and its arguments
   * @param options.kind of a generator: its priority comes from its environment
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
