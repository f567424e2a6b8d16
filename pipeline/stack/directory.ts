import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { releaseLock, takeLock } from '../setup/lock.mjs';
import { ConfigError } from '../shared/config.ts';
import { isAlive, readStackFile, removeStackFile, shortPath, writePrivateFile } from './file.ts';

/** A dead supervisor's leash ends its processes within this time. */
const LEASH_MS = 20_000;

/** The file that marks a stack's directory. */
const MARK = 'arrival-stack';
const MARK_TEXT =
  'A directory of Arrival’s pipeline, which empties logs/, tls/ and what a run left when it starts.\n';
/** The repository's own directory, which the set-up uses too. */
const REPOSITORY = join(import.meta.dirname, '../../.stack');

/**
 * Makes a directory a stack's own, 0700. Rejects, without changes, when it has files and was never a stack's: the stack deletes files.
 */
export async function ownDirectory(dir: string): Promise<void> {
  const given = `STACK_DIR is ${shortPath(dir)}`;
  const files = await readdir(dir).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new ConfigError(`${given}, which is not a directory that can be read: ${error.message}`);
  });
  const isOwn = files.includes(MARK) || `${dir}${sep}`.startsWith(`${REPOSITORY}${sep}`);
  // npm run matrix has its stack below the given directory.
  const foreign = files.find((name) => !existsSync(join(dir, name, MARK)));
  if (foreign !== undefined && !isOwn) {
    throw new ConfigError(
      `${given}, which has files that are not a stack's, like ${foreign}; allowed: a directory that is new, empty, or was a stack's before`,
    );
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  await writePrivateFile(join(dir, MARK), MARK_TEXT);
}

/**
 * Locks the stack's directory, and removes files of an earlier stack. Rejects in one line when another stack runs in it.
 * @param drop data to remove too
 * @returns a function that unlocks it
 */
export async function claimDirectory(dir: string, drop: readonly string[] = []): Promise<() => void> {
  await ownDirectory(dir);
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
    for (const data of [...drop, 'logs', 'tls']) await rm(join(dir, data), { recursive: true, force: true });
    await mkdir(join(dir, 'logs'), { mode: 0o700 });
  } catch (error) {
    releaseLock(lock);
    throw error;
  }
  return () => releaseLock(lock);
}

/** Waits until the leash of a killed supervisor has ended its processes, and ends the rest. */
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
