/** timeline.ndjson: as a small picture of a run, and as it grows. */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Interval } from '../contract/run.ts';
import { validatePart } from '../contract/validate.ts';
import { openFile } from '../files.ts';
import { percentile } from '../page/facts.ts';
import type { Plan, Second } from './entry.ts';

const FILE = 'timeline.ndjson';
const POINTS = 60;
/** Files that are read at a time. */
const AT_ONCE = 4;
/** Pictures that are kept: 60 numbers each. */
const MOST_KNOWN = 2000;
const CHUNK = 262_144;
const POLL_MS = 500;
const HEARTBEAT_MS = 15_000;

/** The small pictures of runs, each read anew only when its timeline has changed. */
export class Sparks {
  #known = new Map<string, { stamp: string; points: (number | null)[] }>();

  /**
   * p99 of arrival over time in at most 60 points each, each the worst of its seconds, ms; null: nothing arrived. No points: no timeline.
   * @param directories of runs that the catalogue knows
   */
  async of(directories: readonly string[]): Promise<(number | null)[][]> {
    const found: (number | null)[][] = [];
    for (let i = 0; i < directories.length; i += AT_ONCE) {
      const few = directories.slice(i, i + AT_ONCE);
      found.push(...(await Promise.all(few.map((directory) => this.#look(directory)))));
    }
    return found;
  }

  async #look(directory: string): Promise<(number | null)[]> {
    const file = await openFile(directory, FILE);
    if (file === null) return [];
    try {
      const { mtimeMs, size, ino } = await file.stat();
      const stamp = `${mtimeMs} ${size} ${ino}`;
      const known = this.#known.get(directory);
      this.#known.delete(directory); // the one that was asked for last is the last to go
      const points = known?.stamp === stamp ? known.points : await Sparks.#read(file);
      this.#known.set(directory, { stamp, points });
      for (const oldest of this.#known.keys()) {
        if (this.#known.size <= MOST_KNOWN) break;
        this.#known.delete(oldest);
      }
      return points;
    } finally {
      await file.close();
    }
  }

  static async #read(file: FileHandle): Promise<(number | null)[]> {
    const p99s: (number | null)[] = [];
    const lines = new Lines(file);
    for (let more = await lines.read(); more !== null; more = await lines.read()) {
      for (const row of more.flatMap((line) => second(line) ?? [])) p99s.push(row.p99);
    }
    const width = Math.max(1, Math.ceil(p99s.length / POINTS));
    return Array.from({ length: Math.ceil(p99s.length / width) }, (_, i) => {
      const values = p99s.slice(i * width, (i + 1) * width).filter((p99) => p99 !== null);
      return values.length > 0 ? Math.max(...values) : null;
    });
  }
}

/** A line of the file; null where it is none, or not yet. */
function second(line: string): Second | null {
  if (line === '') return null;
  let row: Interval;
  try {
    row = JSON.parse(line);
  } catch {
    return null;
  }
  if (validatePart('interval', row).length > 0) return null;
  const { t, phase, scheduled, accepted, rejected, failed, arrived, backlog, arrival, stages } = row;
  const at = (key: 'p50' | 'p99') => (arrival === null ? null : percentile(arrival, key));
  const cpu = row.generator?.cpu_percent ?? null;
  const latencies = { p50: at('p50'), p99: at('p99'), stages, cpu };
  return { t, phase, scheduled, accepted, refused: rejected + failed, arrived, backlog, ...latencies };
}

/**
 * A run as server-sent events: first its `plan`, then `seconds` (an array) as they come, `end` when the run has. Comments in between
 * keep the connection alive.
 * @param ended whether no more will come
 */
export async function* follow(
  file: FileHandle,
  plan: Plan,
  ended: () => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const lines = new Lines(file);
  let spoken = performance.now();
  try {
    yield `event: plan\ndata: ${JSON.stringify(plan)}\n\n`;
    while (!signal.aborted) {
      // Asked first: what was written before the end is read after it.
      const last = await ended();
      for (let more = await lines.read(); more !== null; more = await lines.read()) {
        const seconds = more.flatMap((line) => second(line) ?? []);
        yield `event: seconds\ndata: ${JSON.stringify(seconds)}\n\n`;
        spoken = performance.now();
      }
      if (last) {
        yield 'event: end\ndata: {}\n\n';
        return;
      }
      if (performance.now() - spoken > HEARTBEAT_MS) {
        yield ': still here\n\n';
        spoken = performance.now();
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    await file.close();
  }
}

/** The complete lines that have been added to a file since it was last read. */
class Lines {
  #file: FileHandle;
  #at = 0;
  #rest = Buffer.alloc(0);

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @returns null if there are no more by now */
  async read(): Promise<string[] | null> {
    for (;;) {
      const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(CHUNK), 0, CHUNK, this.#at);
      if (bytesRead === 0) return null;
      this.#at += bytesRead;
      const bytes = Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(10) + 1;
      this.#rest = bytes.subarray(end);
      if (end > 0) return bytes.toString('utf8', 0, end - 1).split('\n');
    }
  }
}
