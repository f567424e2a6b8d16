import { readFileSync } from 'node:fs';
import { cpus, freemem, totalmem } from 'node:os';

/** USER_HZ and the page size of every Linux that Node runs on as a rule; `getconf CLK_TCK PAGESIZE`. */
const TICKS_A_SECOND = 100;
const PAGE_BYTES = 4096;

export interface Usage {
  /** CPU time since the process or the host started, ms. */
  cpu_ms: number;
  rss_mb: number;
}

/** CPU and memory of a process and its children (nginx' workers). Undefined where there is no /proc, or no process. */
export function processUsage(pid: number): Usage | undefined {
  const own = usageOf(pid);
  if (own === undefined) return undefined;
  for (const child of childrenOf(pid)) {
    const { cpu_ms = 0, rss_mb = 0 } = usageOf(child) ?? {};
    own.cpu_ms += cpu_ms;
    own.rss_mb += rss_mb;
  }
  return own;
}

/** proc(5), /proc/pid/stat: 14 utime, 15 stime, 24 rss; counted behind the name, which may hold spaces. */
function usageOf(pid: number): Usage | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { cpu_ms: (ticks * 1000) / TICKS_A_SECOND, rss_mb: (Number(fields[21]) * PAGE_BYTES) / 1e6 };
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  try {
    return (readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/\d+/g) ?? []).map(Number);
  } catch {
    return [];
  }
}

/**
 * All cores together, where there is no /proc (`busyPercent` of vmstat.ts is the figure on Linux, whose interrupts Node does not report).
 */
export function hostUsage(): Usage {
  const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  return { cpu_ms: busy, rss_mb: memoryInUse() };
}

/** The host's memory that is not free, MB. */
export function memoryInUse(): number {
  return (totalmem() - freemem()) / 1e6;
}
