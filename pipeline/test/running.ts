/** Relays and ingests of tests: in the test's process, or each in its own where a test kills it or sends it a signal. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLog } from '../common/log.ts';
import { runIngest, STOP_LIMIT_MS } from '../ingest/run.ts';
import { runRelay, stopLimitMs } from '../relay/run.ts';
import { IngestConfig, RelayConfig, readConfig } from '../shared/config.ts';
import { Supervised } from '../stack/process.ts';
import { remove, temporaryDirectory } from './services.ts';

export type Env = Record<string, string>;

/** A relay or an ingest: the words that {@link InProcess} and {@link Supervised} share. */
export type Running = Pick<Supervised, 'says' | 'ended' | 'lastLines' | 'alive' | 'stop'>;

/** A relay or an ingest in this process. It has the lines and the exit code of the command. */
export class InProcess implements Running {
  readonly lastLines: string[] = [];
  readonly ended: Promise<string>;
  alive = true;
  readonly #stop = new AbortController();
  readonly #limitMs: number;

  /** @param run resolves with the exit code when its signal has aborted, within `limitMs` */
  constructor(run: (stop: AbortSignal, keep: (line: string) => void) => Promise<number>, limitMs: number) {
    this.#limitMs = limitMs;
    const work = run(this.#stop.signal, (line) => this.lastLines.push(line.trimEnd()));
    const killed = this.#killed();
    this.ended = Promise.race([work, killed])
      .catch((error: Error) => {
        this.lastLines.push(error.name === 'ConfigError' ? error.message : String(error.stack));
        return 1;
      })
      .then((code) => {
        this.alive = false;
        this.#stop.abort();
        return `exited with code ${code}`;
      });
  }

  /** The command ends a process that takes longer to stop. */
  async #killed(): Promise<number> {
    const { signal } = this.#stop;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await sleep(this.#limitMs, undefined, { ref: false });
    this.lastLines.push('killed by timeout');
    return 1;
  }

  /** Resolves with the match when there is such a line; rejects when it ends first, or after `withinMs`. */
  async says(pattern: RegExp, withinMs: number): Promise<RegExpExecArray> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      for (const line of this.lastLines) {
        const match = pattern.exec(line);
        if (match) return match;
      }
      const lines = this.lastLines.join('\n');
      if (!this.alive) throw new Error(`it ${await this.ended}:\n${lines}`);
      if (Date.now() > deadline) throw new Error(`no ${pattern} after ${withinMs} ms:\n${lines}`);
      await sleep(5);
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }
}

/** A relay in this process. */
export function relayHere(env: Env): InProcess {
  const config = readConfig(RelayConfig, { ...process.env, ...env });
  return new InProcess((stop, write) => runRelay(config, logOf(config, write), stop), stopLimitMs(config));
}

/** An ingest in this process. */
export function ingestHere(env: Env): InProcess {
  const run = async (stop: AbortSignal, write: (line: string) => void) => {
    const config = readConfig(IngestConfig, { ...process.env, ...env });
    await runIngest(config, logOf(config, write), { stop });
    return 0;
  };
  return new InProcess(run, STOP_LIMIT_MS);
}

function logOf(config: RelayConfig | IngestConfig, write: (line: string) => void) {
  const name = config.PROCESS_NAME;
  return openLog(config.LOG_LEVEL, { name, settings: config, isTty: false, destination: { write } });
}

const COMMANDS = { relay: '../relay/main.ts', ingest: '../ingest/server.ts' };

/**
 * A relay or an ingest in a process of its own, which ends with the test.
 * @param under a command that execs it
 */
export async function inItsProcess(
  t: TestContext,
  role: keyof typeof COMMANDS,
  env: Env,
  under: readonly string[] = [],
): Promise<Supervised> {
  const logs = await temporaryDirectory();
  const { PROCESS_NAME: name = role } = env;
  const script = join(import.meta.dirname, COMMANDS[role]);
  const [command = '', ...args] = [...under, process.execPath, script];
  const launch = { name, command, args, env: { PROCESS_NAME: name, ...env } };
  const running = await Supervised.start(launch, { logs });
  t.after(async () => {
    running.signal('SIGCONT');
    await running.stop();
    await remove(logs);
  });
  return running;
}

/** The URL at which a process reports its health. */
export async function healthOf(running: Running): Promise<string> {
  const [, url = ''] = await running.says(/health at (http:[^\s"]+)/, 60_000);
  return url;
}
