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

  /** To be called when the process has ended: its pid may be another's soon. */
  release(pid: number): void {
    if (this.#held.delete(pid)) this.#tell();
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

/** One for all that this process starts. */
export const leash = new Leash();
