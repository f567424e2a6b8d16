/**
 * Drain before filling: when the cores are full, processes downstream of the queue get the CPU before those that fill it. Otherwise
 * messages wait in the queue while the ingest, which always has work, shares the core with the relay. The generator is between them: one
 * that waits for the ingest sends and receives late, and one as far ahead as the broker interrupts it at each message that it delivers.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const DOWNSTREAM = ['mosquitto', 'redis', 'relay'];
const GENERATORS = ['artillery', 'k6'];
const UPSTREAM = ['ingest', 'nginx'];
/** Nice values, absolute: a recorder has the same as the generator that starts it. */
const FIRST = -10;
const SECOND = -5;
const LAST = 10;
const HAS_AUTOGROUP = existsSync('/proc/self/autogroup');

/** Nice values by kind of process, where they differ from this process's. */
export type Priorities = ReadonlyMap<string, number>;

/** The priorities of a setting: with the right to, all but upstream processes are raised, else upstream ones are lowered. */
export function prioritiesOf(setting: 'none' | 'drain'): Priorities {
  if (setting === 'none') return new Map();
  const own = getPriority();
  if (!mayRaise()) return new Map(UPSTREAM.map((kind) => [kind, Math.max(own, LAST)]));
  return new Map([
    ...DOWNSTREAM.map((kind) => [kind, Math.min(own, FIRST)] as const),
    ...GENERATORS.map((kind) => [kind, Math.min(own, SECOND)] as const),
  ]);
}

/** The priorities of a generator, by the environment of its run: none beside a pipeline of the user's own. */
export function prioritiesOfRun({ PRIORITY, INGEST_URL }: NodeJS.ProcessEnv): Priorities {
  return prioritiesOf(PRIORITY === 'none' || INGEST_URL ? 'none' : 'drain');
}

/** Whether this process may raise priorities: as root, with CAP_SYS_NICE or RLIMIT_NICE. */
function mayRaise(): boolean {
  const own = getPriority();
  try {
    setPriority(Math.min(own, FIRST));
    setPriority(own);
    return true;
  } catch {
    return false;
  }
}

/** The priorities as text, for reports. */
export function named(priorities: Priorities): string {
  if (priorities.size === 0) return 'none';
  const [downstream, generator, ingest] = ['relay', 'k6', 'ingest'].map((kind) => priorities.get(kind));
  return ingest === undefined
    ? `drain, downstream at nice ${downstream}, generator at ${generator}`
    : `drain, ingest at nice ${ingest}`;
}

/** The command prefix that gives a command, and all of its threads, its nice value. */
export function atItsPriority(priorities: Priorities, kind: string): string[] {
  const nice = priorities.get(kind);
  return nice === undefined ? [] : ['nice', '-n', String(nice - getPriority())];
}

/**
 * Sets the nice value of a process's session. With autogroup (sched(7)) Linux shares the CPU among sessions, and a process's own value
 * counts only within its session; each process of a stack leads one. Rejects when the kernel refuses.
 */
export async function setSession(priorities: Priorities, kind: string, pid: number): Promise<void> {
  const nice = priorities.get(kind);
  if (nice === undefined || !HAS_AUTOGROUP) return;
  for (let tries = 1; ; tries++) {
    try {
      return await writeFile(`/proc/${pid}/autogroup`, String(nice));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // The process has ended, which its owner reports.
      if (code === 'ENOENT' || code === 'ESRCH') return;
      // Without CAP_SYS_ADMIN the kernel allows ten changes a second.
      if (code !== 'EAGAIN' || tries === 50) {
        throw new Error(`the priority of ${kind} cannot be set: ${message}; PRIORITY=none leaves it`);
      }
      await sleep(50);
    }
  }
}
