import { readFile } from 'node:fs/promises';
import type { Launch } from '../../stack/launch.ts';
import { Supervised } from '../../stack/process.ts';
import { READY_MS } from './until.ts';

/** A process that can be signalled, killed and restarted. */
export class Member {
  readonly name: string;
  readonly #launch: Launch;
  readonly #ready: RegExp;
  readonly #logs: string;
  #starts = 0;
  #process: Supervised | undefined;
  #over = false;

  constructor(launch: Launch, ready: RegExp, logs: string) {
    this.name = launch.name;
    this.#launch = launch;
    this.#ready = ready;
    this.#logs = logs;
  }

  /** Starts it, and waits until it is ready. */
  async start(): Promise<void> {
    await this.launch();
    await this.process.says(this.#ready, READY_MS);
  }

  /** Starts it without waiting. */
  async launch(): Promise<void> {
    if (this.#over) throw new Error(`${this.name} is not started: the case is over`);
    this.#starts++;
    const name = this.#starts === 1 ? this.name : `${this.name}.${this.#starts}`;
    this.#process = await Supervised.start({ ...this.#launch, name }, { logs: this.#logs });
    if (this.#over) await this.stop();
  }

  get process(): Supervised {
    return this.#process as Supervised;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.signal(signal);
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.process.ended;
  }

  /** SIGTERM; resolves with how it ended, and after how many ms. */
  async terminate(): Promise<{ how: string; ms: number }> {
    const since = performance.now();
    this.signal('SIGTERM');
    const how = await this.process.ended;
    return { how, ms: performance.now() - since };
  }

  /** MB of resident memory. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  async stop(): Promise<void> {
    if (this.#process === undefined) return;
    this.signal('SIGCONT');
    await this.#process.stop(3000);
  }

  /** Stops it for good. */
  async end(): Promise<void> {
    this.#over = true;
    await this.stop();
  }
}
