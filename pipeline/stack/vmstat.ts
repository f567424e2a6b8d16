import { readFileSync } from 'node:fs';

/** The host's figures from /proc: counts since it started, and gauges. */
export interface HostCounts {
  at_ms: number;
  cores: number;
  interrupts: number;
  switches: number;
  /** Ticks of all cores. */
  cpu: { user: number; system: number; idle: number; wait: number; steal: number };
  swapped_in_pages: number;
  swapped_out_pages: number;
  running: number;
  blocked: number;
  free_kb: number;
}

const PAGE_KB = 4;

/** Whether this system has what vmstat shows. */
export const HAS_VMSTAT = process.platform === 'linux';

/** Undefined where there is no /proc: only Linux has it. */
export function readHost(): HostCounts | undefined {
  if (!HAS_VMSTAT) return undefined;
  const read = (file: string) => readFileSync(`/proc/${file}`, 'latin1');
  return parseHost(performance.now(), read('stat'), read('vmstat'), read('meminfo'));
}

/** proc(5): /proc/stat, /proc/vmstat, /proc/meminfo. A figure that is missing is 0. */
export function parseHost(at_ms: number, stat: string, vmstat: string, meminfo: string): HostCounts {
  const numbers = (text: string, name: string) =>
    (new RegExp(`^${name}:?\\s+(.*)$`, 'm').exec(text)?.[1] ?? '').split(/\s+/).map(Number);
  const one = (text: string, name: string) => numbers(text, name)[0] || 0;
  // user nice system idle iowait irq softirq steal; guests' time is in user and nice.
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = numbers(
    stat,
    'cpu',
  );
  return {
    at_ms,
    cores: stat.match(/^cpu\d+ /gm)?.length ?? 0,
    interrupts: one(stat, 'intr'),
    switches: one(stat, 'ctxt'),
    cpu: { user: user + nice, system: system + irq + softirq, idle, wait, steal },
    swapped_in_pages: one(vmstat, 'pswpin'),
    swapped_out_pages: one(vmstat, 'pswpout'),
    running: one(stat, 'procs_running'),
    blocked: one(stat, 'procs_blocked'),
    free_kb: one(meminfo, 'MemFree'),
  };
}

/**
 * The CPU that the host used between two moments, in percent of a core: `us` and `sy` of vmstat, so with interrupts of both kinds. What
 * a hypervisor gave to others (`st`) is neither the host's own use nor idle time.
 */
export function busyPercent(before: HostCounts, now: HostCounts): number {
  const { user, system } = shares(before, now);
  return (user + system) * now.cores;
}

/** vmstat(8)'s columns between two moments, in its units; free memory in MB. */
export function vmstat(before: HostCounts, now: HostCounts): Record<string, number> {
  const seconds = (now.at_ms - before.at_ms) / 1000;
  const rate = (key: 'interrupts' | 'switches' | 'swapped_in_pages' | 'swapped_out_pages') =>
    (now[key] - before[key]) / seconds;
  const share = shares(before, now);
  return {
    r: now.running,
    b: now.blocked,
    free_mb: (now.free_kb * 1024) / 1e6, // the kernel's kB are of 1,024 bytes
    si: rate('swapped_in_pages') * PAGE_KB,
    so: rate('swapped_out_pages') * PAGE_KB,
    in: rate('interrupts'),
    cs: rate('switches'),
    us: share.user,
    sy: share.system,
    id: share.idle,
    wa: share.wait,
    st: share.steal,
  };
}

/** The use of the cores between two moments, in % of all of their time. */
function shares(before: HostCounts, now: HostCounts): HostCounts['cpu'] {
  const ticks = Object.entries(now.cpu).map(
    ([name, value]) => [name, Math.max(0, value - before.cpu[name as keyof HostCounts['cpu']])] as const,
  );
  const all = ticks.reduce((sum, [, value]) => sum + value, 0) || 1;
  return Object.fromEntries(ticks.map(([name, value]) => [name, (100 * value) / all])) as HostCounts['cpu'];
}
