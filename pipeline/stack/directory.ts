import { chmod, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { isAlive, readStackFile, removeStackFile, shortPath } from './file.ts';

/** A dead supervisor's leash ends its processes; this is how long it may take. */
const LEASH_MS = 20_000;

/**
 * Makes the stack's directory ours, 0700, and empty of an earlier stack: messages of a run that is over
 * would only disturb the next one. Rejects in one line when another stack is running in it.
 * Returns what gives it back.
 */
export async function claimDirectory(dir: string): Promise<() => Promise<void>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  const lock = join(dir, 'supervisor.pid');
  for (;;) {
    try {
      const file = await open(lock, 'wx', 0o600);
      await file.writeFile(String(process.pid));
      await file.close();
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const pid = Number(await readFile(lock, 'utf8').catch(() => ''));
    if (pid === process.pid || (await isSupervisor(pid))) {
      throw new Error(
        `a stack is running already in ${shortPath(dir)} (pid ${pid}): stop it, or set STACK_DIR to another directory`,
      );
    }
    await rm(lock, { force: true });
  }
  await endLeftovers(dir);
  await removeStackFile(dir);
  for (const data of ['redis', 'logs', 'tls']) await rm(join(dir, data), { recursive: true, force: true });
  await mkdir(join(dir, 'logs'), { mode: 0o700 });
  return () => rm(lock, { force: true });
}

async function isSupervisor(pid: number): Promise<boolean> {
  return pid > 0 && isAlive(pid) && /node/.test(await commandOf(pid));
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
