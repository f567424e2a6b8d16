import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, 'leash.sh');

/** Ends the processes it holds when this process dies, even by SIGKILL. */
class Leash {
  readonly #held = new Set<number>();
  #watchdog: ChildProcess | undefined;

  hold(pid: number): void {
    this.#watchdog ??= this.#start();
    this.#held.add(pid);
    this.#tell();
  }

  /** Call it when the process has ended: it ends the rest of its group, and forgets the pid, which may be reused. */
  release(pid: number): void {
    if (!this.#held.delete(pid)) return;
    endGroup(pid);
    this.#tell();
  }

  #start(): ChildProcess {
    // It has its own process group, so that Ctrl-C does not reach it.
    const watchdog = spawn('/bin/sh', [SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    watchdog.unref();
    watchdog.on('error', () => {});
    // The watchdog waits for the end of this pipe, which must not keep this process alive.
    watchdog.stdin?.on('error', () => {});
    (watchdog.stdin as unknown as { unref(): void }).unref();
    return watchdog;
  }

  #tell(): void {
    this.#watchdog?.stdin?.write(`${[...this.#held].join(' ')}\n`);
  }
}

/** Kills the rest of a process group: nginx' workers outlive a killed master, and keep its port. */
export function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // The group is empty, or there never was one.
  }
}

/** The leash of all processes that this one starts. */
export const leash = new Leash();
