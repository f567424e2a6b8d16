import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { execa } from 'execa';
import { readConfig, StackConfig } from '../../pipeline/config.ts';
import { Stack } from '../../pipeline/stack/stack.ts';
import { remove, temporaryDirectory } from '../../pipeline/test/services.ts';
import type { Run } from '../../reports/run.ts';
import { validateRun } from '../../reports/validate.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** A stack's directory of a test's own, on ports that are free, and where its run goes. Gone after the test `t`. */
export async function place(t?: TestContext) {
  const dir = await temporaryDirectory();
  t?.after(() => remove(dir));
  const env = { INGEST_PORT: '0', REDIS_PORT: '0', MQTT_PORT: '0', STACK_DIR: dir, NO_COLOR: '1' };
  return { dir, runDir: join(dir, 'run'), env };
}

export function node(args: string[], env: NodeJS.ProcessEnv) {
  return execa(process.execPath, args, { cwd: ROOT, env, reject: false, all: true });
}

export function k6(args: string[], env: NodeJS.ProcessEnv) {
  const quiet = { K6_AUTO_EXTENSION_RESOLUTION: 'false', K6_NO_USAGE_REPORT: 'true' };
  return execa(join(ROOT, 'k6'), args, { cwd: ROOT, env: { ...env, ...quiet }, reject: false, all: true });
}

export async function readRun(dir: string): Promise<Run> {
  const run = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8'));
  assert.deepEqual(validateRun(run), []);
  return run;
}

/**
 * What a machine that others use can do to a run; the run then says so. In a run of a second the clocks are probed a few times only, and
 * one batch is more than the share of deliveries that may have a stage below zero.
 */
const HELD_UP =
  /^(the (generator was (late|out of CPU)|clocks disagree|clock bound .* is more than 10 % of the stage)|\d+ deliveries have a stage below zero)/;

/** The run passes, or the machine held the instrument up: that is the one reason that may stand. */
export function assertPass({ verdict }: Run, exitCode: number | undefined): void {
  const others = verdict.reasons.filter((reason) => !HELD_UP.test(reason));
  assert.deepEqual(others, []);
  assert.equal(verdict.result, verdict.reasons.length > 0 ? 'invalid' : 'pass');
  assert.equal(exitCode, verdict.result === 'pass' ? 0 : 99);
}

/** A pipeline that several runs use, one after the other. */
export class Pipeline {
  readonly stack: Stack;
  readonly #at: Awaited<ReturnType<typeof place>>;
  #runs = 0;

  private constructor(stack: Stack, at: Awaited<ReturnType<typeof place>>) {
    this.stack = stack;
    this.#at = at;
  }

  static async start(settings: NodeJS.ProcessEnv = {}): Promise<Pipeline> {
    const at = await place();
    return new Pipeline(await Stack.start(readConfig(StackConfig, { ...at.env, ...settings })), at);
  }

  /** Runs a script of scenarios/ with settings (-e) and an environment, and returns what it left. */
  async run(script: string, settings: Record<string, string | number> = {}, env: NodeJS.ProcessEnv = {}) {
    this.#runs++;
    const dir = join(this.#at.dir, `run-${this.#runs}`);
    const args = Object.entries({ LABELS: 'test=17', ...settings }).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ]);
    const { exitCode, all } = await k6(['run', '-q', '--log-format', 'raw', ...args, `scenarios/${script}`], {
      ...this.#at.env,
      ...env,
      RUN_DIR: dir,
    });
    const run = await readRun(dir).catch((error) => assert.fail(`${error}\n${all}`));
    assert.equal(run.run.labels.test, '17');
    return { run, exitCode, text: String(all), dir };
  }

  /** What lets a command find this pipeline. */
  get env(): NodeJS.ProcessEnv {
    return this.#at.env;
  }

  async stop(): Promise<void> {
    await this.stack.stop(0);
    await remove(this.#at.dir);
  }
}
