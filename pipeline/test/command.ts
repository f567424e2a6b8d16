import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { readConfig, StackConfig } from '../shared/config.ts';
import { explained } from '../stack/explain.ts';
import type { StackFile } from '../stack/file.ts';
import { Stack } from '../stack/stack.ts';
import { eventually } from './services.ts';

const MAIN = join(import.meta.dirname, '../stack/main.ts');

/** Settings that choose free ports. */
export const FREE = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0' };

/** Why `npm run pipeline` does not start with these settings, on free ports: what it prints, without a process of its own. */
export async function refusalOf(env: { STACK_DIR: string; [name: string]: string }): Promise<string> {
  let stack: Stack;
  try {
    const config = readConfig(StackConfig, { ...process.env, ...FREE, ...env });
    stack = await Stack.start(config, {}, { leftovers: 'keep' });
  } catch (error) {
    return `${explained(error as Error)}\n`;
  }
  await stack.stop();
  throw new Error('the pipeline starts with these settings');
}

/** `npm run pipeline` on free ports. */
export class PipelineCommand {
  output = '';
  readonly #child;
  readonly #dir: string;
  readonly ended: Promise<number | null>;

  /** @param env with STACK_DIR */
  constructor(
    t: TestContext,
    env: { STACK_DIR: string; [name: string]: string },
    args: readonly string[] = [],
  ) {
    t.after(() => this.stop('SIGINT'));
    this.#dir = env.STACK_DIR;
    this.#child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...FREE, ...env } });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on('data', (chunk) => {
        this.output += chunk;
      });
    }
    this.ended = once(this.#child, 'close').then(([code]) => code);
  }

  async ready(): Promise<StackFile> {
    const over = () => this.output.includes('is ready') || this.#child.exitCode !== null;
    await eventually(over, 'a stack', 180_000);
    if (this.#child.exitCode !== null) throw new Error(this.output);
    return JSON.parse(await readFile(join(this.#dir, 'stack.json'), 'utf8'));
  }

  /** Returns the exit code, or null if the signal itself ended it. */
  stop(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.ended;
  }
}
