/** What the generator uses: the whole process, Artillery's threads and the recorder's. */
import { readHost, vmstat } from '../../pipeline/stack/vmstat.ts';
import type { Interval, Resource } from '../../reports/run.ts';
import { usageOf } from './telemetry.ts';
import { monotonic } from './thread.ts';

/** µs; the system counts CPU in ticks, and over a shorter span one of them would look like a busy core. */
const SHORTEST = 5e5;

export class Usage {
  #used = process.cpuUsage();
  #at = monotonic();
  #host = readHost();

  /** Since the last time. */
  cut(): NonNullable<Interval['generator']> {
    const [before, host] = [this.#host, readHost()];
    const steal = before && host && host.cpu.steal > 0 ? vmstat(before, host).st : undefined;
    const now = monotonic();
    const span = now - this.#at;
    const { user, system } = process.cpuUsage(this.#used);
    [this.#used, this.#at, this.#host] = [process.cpuUsage(), now, host];
    return {
      cpu_percent: span > SHORTEST ? ((user + system) / span) * 100 : null,
      rss_mb: process.memoryUsage.rss() / 1e6,
      ...(steal !== undefined && { steal_percent: steal }),
    };
  }
}

/** Over the run, beside the processes of the pipeline. */
export function ownUsage(timeline: readonly Interval[]): Resource {
  const series = timeline.map(({ t, generator }): Resource['series'][number] => [
    t,
    generator?.cpu_percent ?? null,
    generator?.rss_mb ?? null,
  ]);
  return { ...usageOf('artillery', series), figures: null };
}
