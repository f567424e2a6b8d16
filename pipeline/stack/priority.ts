/**
 * Drain before filling: with the cores full, what is downstream has the CPU before what brings more. Without it a message waits in the
 * queue while the ingest, which always has work, takes the core in turns with the relay. The generator is downstream too: its subscriber
 * is where messages arrive, and it sends late where it has to wait.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const DOWNSTREAM = ['artillery', 'k6', 'mosquitto', 'redis', 'relay'];
const UPSTREAM = ['ingest', 'nginx'];
/** Levels, not steps: a recorder that a generator starts is no further ahead than the generator. */
const AHEAD = -10;
const BEHIND = 10;
const HAS_AUTOGROUP = existsSync('/proc/self/autogroup');

/** The nice value of each kind of process that has another than this process. */
export type Priorities = ReadonlyMap<string, number>;

/** Those of a setting: with the right to, what is downstream goes ahead, else what is upstream yields. */
export function prioritiesOf(setting: 'none' | 'drain'): Priorities {
  if (setting === 'none') return new Map();
  const own = getPriority();
  const level = (kinds: readonly string[], nice: number) => new Map(kinds.map((kind) => [kind, nice]));
  return mayGoAhead() ? level(DOWNSTREAM, Math.min(own, AHEAD)) : level(UPSTREAM, Math.max(own, BEHIND));
}

/** Those of a generator, by the environment of its run: it does not go ahead of a pipeline of the user's own. */
export function prioritiesOfRun({ PRIORITY, INGEST_URL }: NodeJS.ProcessEnv): Priorities {
  return prioritiesOf(PRIORITY === 'none' || INGEST_URL ? 'none' : 'drain');
}

/** Root, CAP_SYS_NICE or RLIMIT_NICE; to yield, and to come back from it, is asked of nobody. */
function mayGoAhead(): boolean {
  const own = getPriority();
  try {
    setPriority(Math.min(own, AHEAD));
    setPriority(own);
    return true;
  } catch {
    return false;
  }
}

/** As a report names them: what was set, and for whom. */
export function named(priorities: Priorities): string {
  if (priorities.size === 0) return 'none';
  const [nice = 0] = priorities.values();
  return nice < 0
    ? `drain: all but ${UPSTREAM.join(' and ')} at nice ${nice}`
    : `drain: ${UPSTREAM.join(' and ')} at nice ${nice}`;
}

/** The words before a command that give it, and all of its threads, its nice value; they become it. */
export function atItsPriority(priorities: Priorities, kind: string): string[] {
  const nice = priorities.get(kind);
  return nice === undefined ? [] : ['nice', '-n', String(nice - getPriority())];
}

/**
 * Where Linux shares the CPU among sessions (sched(7), autogroup), a nice value counts inside its session alone: each process of a stack
 * leads a session, and has the value of that set too. Rejects where the kernel refuses it.
 */
export async function setSession(priorities: Priorities, kind: string, pid: number): Promise<void> {
  const nice = priorities.get(kind);
  if (nice === undefined || !HAS_AUTOGROUP) return;
  for (let tries = 1; ; tries++) {
    try {
      return await writeFile(`/proc/${pid}/autogroup`, String(nice));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // The process has already ended, which its owner reports.
      if (code === 'ENOENT' || code === 'ESRCH') return;
      // Without CAP_SYS_ADMIN the kernel takes ten in a second.
      if (code !== 'EAGAIN' || tries === 50) {
        throw new Error(`the priority of ${kind} cannot be set: ${message}; PRIORITY=none leaves it`);
      }
      await sleep(50);
    }
  }
}
