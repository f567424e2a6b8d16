import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { releaseLock, takeLock } from './lock.mjs';

const SHOWN_LINES = 20;

/** A step that failed, with a message of one line; `output` holds what it printed last. */
export class StepError extends Error {
  constructor(message, output = '') {
    super(message);
    this.output = output;
  }
}

/** Runs a program and resolves with what it printed; rejects with the last lines of it. */
export function run(command, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: env ?? process.env, stdio: ['inherit', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => reject(new StepError(`${command} cannot be run: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(output);
      const tail = output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
      reject(new StepError(`${command} ${args[0] ?? ''} ended with ${signal ?? `code ${code}`}`, tail));
    });
  });
}

/** Builds a program of a Go module, whose go.mod says which Go it wants. */
export async function buildGo(module, program, source, flags = []) {
  const [, version] = /^go (\S+)/m.exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? [];
  await run('go', ['version'], { cwd: module }).catch(({ output, message }) => {
    throw new StepError(`Go ${version} or newer is needed (https://go.dev/dl): ${message}`, output);
  });
  await run('go', ['build', '-buildvcs=false', ...flags, '-o', program, source], { cwd: module });
}

/**
 * Does one step and prints its line: `setup  npm packages … ok 12.3 s`. On a terminal its seconds go on.
 * @param {string} name
 * @param {() => unknown} work
 * @param {string} [command]
 * @param {{ isTTY?: boolean, write(text: string): unknown }} [out]
 */
export async function step(name, work, command = 'setup', out = process.stdout) {
  const started = performance.now();
  const line = `${command}  ${name} … `;
  const lives = () => out.write(`\r${line}${Math.round((performance.now() - started) / 1000)} s`);
  const timer = out.isTTY ? setInterval(lives, 1000) : undefined;
  out.write(line);
  const end = (result) => {
    clearInterval(timer);
    out.write(out.isTTY ? `\r\x1b[K${line}${result}\n` : `${result}\n`);
  };
  try {
    await work();
  } catch (error) {
    end('failed');
    throw error;
  }
  end(`ok ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/**
 * Holds the lock of this checkout while `work` runs: two set-ups at once would build into each other. Waits for
 * the other one; a lock whose owner is gone is taken over.
 * @param {string} file
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 * @template T
 */
export async function locked(file, work) {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  for (let waiting = false; ; waiting = true) {
    const holder = takeLock(file);
    if (holder === undefined) break;
    if (!waiting) console.log(`setup  waiting for another set-up (pid ${holder})`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    return await work();
  } finally {
    releaseLock(file);
  }
}
