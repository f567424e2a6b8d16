/** A file that says which process holds it: its pid and when it started, as pids come again. Plain Node: the set-up uses it. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Takes a lock, or leaves it with whom it is. One whose holder is gone is taken over; of several who try, one gets it.
 * @param {string} file in a directory that is there
 * @returns {number | undefined} undefined: it is ours now; else the pid of who has it, which may be us
 */
export function takeLock(file) {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, identity(process.pid), { mode: 0o600 });
  try {
    for (;;) {
      // A link comes to be with all its content, or not at all.
      if (linked(draft, file)) return undefined;
      const held = read(file);
      if (held === undefined) continue;
      const pid = Number(held.split(' ')[0]);
      if (pid > 0 && identity(pid) === held) return pid;
      removeStale(file, held);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @param {string} file a lock that this process has */
export function releaseLock(file) {
  rmSync(file, { force: true });
}

/**
 * Removes a lock whose holder is gone. Since we looked another may have taken it: only who has the lock of the takeover removes it,
 * and looks again before.
 */
function removeStale(file, held) {
  const takeover = `${file}.takeover`;
  if (takeLock(takeover) !== undefined) return;
  if (read(file) === held) rmSync(file, { force: true });
  releaseLock(takeover);
}

/** @returns whether it did not exist before; false too when there is nothing to link */
function linked(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST' || error.code === 'ENOENT') return false;
    throw error;
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * What distinguishes a process from a later one with the same pid.
 * @param {number} pid
 * @returns {string | undefined} undefined: there is none
 */
export function identity(pid) {
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedElsewhere(pid);
  return started === undefined ? undefined : `${pid} ${started}`;
}

/** Ticks since the machine's start. A process that is dead and not yet reaped is none. */
function startedOnLinux(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Fields from the third on follow the command's name, which may contain anything (proc_pid_stat(5)).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startedElsewhere(pid) {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
