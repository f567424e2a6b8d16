import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const SCRIPT = join(import.meta.dirname, 'leash.sh');

/** Ends the processes it holds when this process dies, even by SIGKILL: no orphan stays behind. */
class Leash {
  readonly #held = new Set<number>();
  #watchdog: ChildProcess | undefined;

  hold(pid: number): void {
    this.#watchdog ??= this.#start();
    this.#held.add(pid);
    this.#tell();
  }

  /** To be called when the process has ended: what it left of its group ends too, and its pid may be another's soon. */
  release(pid: number): void {
    if (!this.#held.delete(pid)) return;
    endGroup(pid);
    this.#tell();
  }

  #start(): ChildProcess {
    // A group of its own: Ctrl-C in the terminal is for us alone.
    const watchdog = spawn('/bin/sh', [SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    watchdog.unref();
    watchdog.on('error', () => {});
    // The pipe must not keep this process alive. Its end, when this process ends, is what the watchdog awaits.
    watchdog.stdin?.on('error', () => {});
    (watchdog.stdin as unknown as { unref(): void }).unref();
    return watchdog;
  }

  #tell(): void {
    this.#watchdog?.stdin?.write(`${[...this.#held].join(' ')}\n`);
  }
}

/** Kills what is there of a group of processes. nginx' workers outlive a master that was killed, and keep its port. */
export function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing of it is left, or it never was a group.
  }
}

/** One for all that this process starts. */
export const leash = new Leash();
