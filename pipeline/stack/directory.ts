import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { ConfigError } from '../common/config.ts';
import { releaseLock, takeLock } from '../setup/lock.mjs';
import { isAlive, readStackFile, removeStackFile, shortPath, writePrivateFile } from './file.ts';

/** A dead supervisor's leash ends its processes; this is how long it may take. */
const LEASH_MS = 20_000;

/** The file in a directory that is a stack's. */
const MARK = 'arrival-stack';
const MARK_TEXT =
  'A directory of Arrival’s pipeline, which empties logs/, tls/ and what a run left when it starts.\n';
/** Where the repository keeps what it makes, the set-up too. */
const REPOSITORY = join(import.meta.dirname, '../../.stack');

/**
 * Makes a directory a stack's own, 0700. Rejects, with nothing changed, where it has files and never was a stack's: much in it will be
 * deleted.
 */
export async function ownDirectory(dir: string): Promise<void> {
  const given = `STACK_DIR is ${shortPath(dir)}`;
  const files = await readdir(dir).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new ConfigError(`${given}, which is no directory that can be read: ${error.message}`);
  });
  const isOwn = files.includes(MARK) || `${dir}${sep}`.startsWith(`${REPOSITORY}${sep}`);
  // A stack of npm run matrix is below the directory that is given.
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
 * Makes the stack's directory ours, and removes what an earlier stack left in it. Rejects in one line when another stack is running in it.
 * @param drop data that is removed too
 * @returns what gives it back
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
