import { readFileSync } from 'node:fs';
import { cpus, freemem, totalmem } from 'node:os';
import type { Clock } from '../clock.ts';
import type { Queue } from '../queue/queue.ts';

const PERIOD_MS = 1000;
/** USER_HZ and the page size of every Linux that Node runs on as a rule; `getconf CLK_TCK PAGESIZE`. */
const TICKS_A_SECOND = 100;
const PAGE_BYTES = 4096;

interface Usage {
  /** CPU time since the process or the host started, ms. */
  cpu_ms: number;
  rss_mb: number;
}

/**
 * Appends CPU (100 = one core) and memory of the servers that cannot do it themselves, and of the host, once a
 * second. What only Linux tells is left out elsewhere. Returns what stops it.
 */
export function startStackTelemetry(queue: Queue, clock: Clock, servers: Record<string, number>): () => void {
  const sources: [name: string, read: () => Usage | undefined][] = [
    ...Object.entries(servers).map(([name, pid]) => [name, () => processUsage(pid)] as [string, () => Usage]),
    ['host', hostUsage],
  ];
  let last = new Map<string, { usage: Usage; at: number }>();
  const timer = setInterval(() => {
    const now = new Map<string, { usage: Usage; at: number }>();
    for (const [name, read] of sources) {
      const usage = read();
      if (usage === undefined) continue;
      const at = performance.now();
      now.set(name, { usage, at });
      const before = last.get(name);
      if (before === undefined || !queue.ready) continue;
      const cpu_percent = (100 * (usage.cpu_ms - before.usage.cpu_ms)) / (at - before.at);
      const data = { cpu_percent: round(cpu_percent), rss_mb: round(usage.rss_mb) };
      queue.record(name, clock.now(), data).catch(() => {});
    }
    last = now;
  }, PERIOD_MS).unref();
  return () => clearInterval(timer);
}

/** proc(5), /proc/pid/stat: 14 utime, 15 stime, 24 rss; counted behind the name, which may hold spaces. */
function processUsage(pid: number): Usage | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { cpu_ms: (ticks * 1000) / TICKS_A_SECOND, rss_mb: (Number(fields[21]) * PAGE_BYTES) / 1e6 };
  } catch {
    return undefined;
  }
}

/** All cores together, so up to 100 times their number; memory that is not free. */
function hostUsage(): Usage {
  const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  return { cpu_ms: busy, rss_mb: (totalmem() - freemem()) / 1e6 };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
