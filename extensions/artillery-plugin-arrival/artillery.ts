/** One run of Artillery with the plugin. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { QUIET } from './install.ts';

/**
 * With Node's own 16 MB each collection of the young generation held up all that was due for 21 ms (median, at 200 requests/s); with 4 MB
 * for 3.5 ms, 14 times as often.
 */
const YOUNG = '--max-semi-space-size=4';

export class ArtilleryRun {
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;

  /**
   * @param bin what {@link installed} returned
   * @param args `run` and what follows it
   * @param within a command that runs it in another place, like a network namespace, and becomes it
   */
  constructor(bin: string, args: readonly string[], env: NodeJS.ProcessEnv, within: readonly string[] = []) {
    const [command = '', ...rest] = [...within, process.execPath, YOUNG, bin, ...args];
    this.#child = spawn(command, rest, {
      stdio: ['ignore', 'inherit', 'inherit'],
      // Its own group: a Ctrl-C reaches it once, by signal().
      detached: true,
      env: { ...env, ...QUIET, ARTILLERY_PLUGIN_PATH: join(import.meta.dirname, '..') },
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
