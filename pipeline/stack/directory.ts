import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { releaseLock, takeLock } from '../setup/lock.mjs';
import { isAlive, readStackFile, removeStackFile, shortPath } from './file.ts';

/** A dead supervisor's leash ends its processes; this is how long it may take. */
const LEASH_MS = 20_000;

/**
 * Makes the stack's directory ours, 0700, and empty of an earlier stack: messages of a run that is over
 * would only disturb the next one. Rejects in one line when another stack is running in it.
 * Returns what gives it back.
 */
export async function claimDirectory(dir: string): Promise<() => void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  const lock = join(dir, 'supervisor.pid');
  const holder = takeLock(lock);
  if (holder !== undefined) {
    throw new Error(
      `a stack is running already in ${shortPath(dir)} (pid ${holder}): stop it, or set STACK_DIR to another directory`,
    );
  }
  try {
    await endLeftovers(dir);
    await removeStackFile(dir);
    for (const data of ['redis', 'logs', 'tls']) await rm(join(dir, data), { recursive: true, force: true });
    await mkdir(join(dir, 'logs'), { mode: 0o700 });
  } catch (error) {
    releaseLock(lock);
    throw error;
  }
  return () => releaseLock(lock);
}

/** What a supervisor left running that was killed: waits for the leash to end it, and else does so. */
async function endLeftovers(dir: string): Promise<void> {
  const stack = await readStackFile(dir).catch(() => undefined);
  const ours = async ([name, pid]: [string, number]) => {
    const program = name.replace(/-\d+$/, '');
    return isAlive(pid) && (await commandOf(pid)).includes(program);
  };
  const deadline = Date.now() + LEASH_MS;
  for (const leftover of Object.entries(stack?.processes ?? {})) {
    while ((await ours(leftover)) && Date.now() < deadline) await sleep(50);
    if (await ours(leftover)) process.kill(leftover[1], 'SIGKILL');
  }
}

async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const { stdout } = await execa('ps', ['-o', 'command=', '-p', String(pid)], { reject: false });
  return stdout;
}
