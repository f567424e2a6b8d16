import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Interval, Run } from '../../../reports/contract/run.ts';
import { FEW_COLLECTIONS, K6, QUIET } from '../../stack/k6.ts';
import { Supervised } from '../../stack/process.ts';
import { READY_MS, until } from './until.ts';

const SCRIPT = join(import.meta.dirname, 'load.js');

/** Options of the generator; further ones are in index.d.ts of k6/x/arrival. */
export interface LoadOptions {
  /** Requests/s. */
  rate: number;
  seconds: number;
  /** Messages of a request, by default 1. */
  batch?: number;
  /** Bytes of a message's payload. */
  fill?: number;
  ingest: { url: string; token: string; retries?: number };
  mqtt: { url: string; qos?: 0 | 1; session?: 'clean' | 'persistent' };
  redis?: { url: string };
  [further: string]: unknown;
}

/** Changes of a case; by default addresses are the rig's. */
export interface FurtherOptions {
  ingest?: Partial<LoadOptions['ingest']>;
  mqtt?: Partial<LoadOptions['mqtt']>;
  [further: string]: unknown;
}

/** A run of k6, whose account decides a case. */
export class Load {
  readonly dir: string;
  readonly #process: Supervised;

  private constructor(dir: string, process: Supervised) {
    this.dir = dir;
    this.#process = process;
  }

  /**
   * @param dir the run's own directory
   * @param within a command that execs k6 elsewhere, like in a network namespace
   */
  static async start(
    options: LoadOptions,
    dir: string,
    logs: string,
    within: readonly string[] = [],
  ): Promise<Load> {
    const [command = K6, ...before] = [...within, K6];
    const args = [...before, 'run', '-q', '--log-format', 'raw', '--no-color', SCRIPT];
    const load = JSON.stringify({ senders: 128, maxSenders: 128, batch: 1, fill: 0, ...options });
    const env = { ...QUIET, ...FEW_COLLECTIONS, RUN_DIR: dir, FAULT_LOAD: load };
    return new Load(dir, await Supervised.start({ name: 'k6', command, args, env }, { logs }));
  }

  get alive(): boolean {
    return this.#process.alive;
  }

  /** Resolves after `seconds` of the load, and a first arrival. */
  flowing(seconds = 1): Promise<void> {
    return this.#shows(({ t, arrived }) => t >= seconds - 1 && arrived > 0, 'something arrives', seconds);
  }

  /** Resolves after a first accepted message. */
  sending(): Promise<void> {
    return this.#shows(({ accepted }) => accepted > 0, 'something is accepted');
  }

  async #shows(what: (second: Interval) => boolean, awaited: string, seconds = 0): Promise<void> {
    const shown = async () => {
      if ((await this.#timeline()).some(what)) return true;
      if (!this.alive) throw new Error(`k6 ${await this.lastWords()}`);
      return false;
    };
    await until(shown, awaited, READY_MS + 1000 * seconds);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal);
  }

  /** Waits for the end, and returns the run. */
  async result(): Promise<Run> {
    await this.#process.ended;
    const text = await readFile(join(this.dir, 'run.json'), 'utf8').catch(() => {
      throw new Error(`k6 left no report: ${this.#process.lastLines.join(' · ')}`);
    });
    return JSON.parse(text);
  }

  /** The last lines of k6, and how it ended. */
  async lastWords(): Promise<string> {
    const how = await this.#process.ended;
    return `${how}: ${this.#process.lastLines.join(' · ')}`;
  }

  async stop(): Promise<void> {
    await this.#process.stop(0);
  }

  /** The complete lines of the timeline. */
  async #timeline(): Promise<Interval[]> {
    const text = await readFile(join(this.dir, 'timeline.ndjson'), 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }
}
