import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SHOWN_LINES = 20;

/** A step that failed, told in one line; `output` holds what it printed last. */
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

/** Does one step and prints its line: `setup  npm packages … ok 12.3 s`. */
export async function step(name, work, command = 'setup') {
  const started = performance.now();
  process.stdout.write(`${command}  ${name} … `);
  try {
    await work();
  } catch (error) {
    process.stdout.write('failed\n');
    throw error;
  }
  process.stdout.write(`ok ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

/**
 * Holds the lock of this checkout while `work` runs: two set-ups at once would build into each other. Waits for
 * the other one; a lock whose owner is dead is taken over.
 */
export async function locked(folder, work) {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  const owner = join(folder, 'pid');
  let waiting = false;
  for (;;) {
    try {
      mkdirSync(folder);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const pid = readPid(owner);
    if (pid !== undefined && !isAlive(pid)) {
      rmSync(folder, { recursive: true, force: true });
    } else {
      if (!waiting) console.log(`setup  waiting for another set-up${pid ? ` (pid ${pid})` : ''}`);
      waiting = true;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  try {
    writeFileSync(owner, String(process.pid));
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readPid(file) {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
