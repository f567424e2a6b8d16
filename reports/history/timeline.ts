/** timeline.ndjson: as it grows, and as a small picture of a run. */
import type { FileHandle } from 'node:fs/promises';
import limits from '../contract/limits.json' with { type: 'json' };
import type { Interval } from '../contract/run.ts';
import { validatePart } from '../contract/validate.ts';
import { openFile } from '../files.ts';
import { percentile } from '../page/facts.ts';
import type { Second } from './entry.ts';

export const TIMELINE = 'timeline.ndjson';
const POINTS = 60;
/** Files that are read at a time. */
const AT_ONCE = 4;
/** Pictures that are kept: 60 numbers each. */
const MOST_KNOWN = 2000;
const CHUNK = 262_144;

/** The small pictures of runs. A timeline is read again only when it has changed. */
export class Sparks {
  #known = new Map<string, { stamp: string; points: (number | null)[] }>();

  /**
   * p99 of arrival over time in at most 60 points each, each the worst of its seconds, ms; null: nothing arrived. No points: no timeline.
   * @param directories the directories of runs that the catalogue knows
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
    const file = await openFile(directory, TIMELINE);
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
    const seconds = new Seconds(file);
    for (let more = await seconds.read(); more !== null; more = await seconds.read()) {
      for (const { p99 } of more) p99s.push(p99);
      if (p99s.length > limits.timeline_seconds) return [];
    }
    const width = Math.max(1, Math.ceil(p99s.length / POINTS));
    return Array.from({ length: Math.ceil(p99s.length / width) }, (_, i) => {
      const values = p99s.slice(i * width, (i + 1) * width).filter((p99) => p99 !== null);
      return values.length > 0 ? values.reduce((a, b) => Math.max(a, b)) : null;
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

/** The complete lines that have been added to a file since it was last read. */
class Lines {
  #file: FileHandle;
  #at = 0;
  /** The pieces of a line that has not ended. */
  #begun: Buffer[] = [];
  #length = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /**
   * Leaves out lines that are longer than any second.
   * @returns null if there are no more by now, or more bytes than any run has
   */
  async read(): Promise<string[] | null> {
    for (;;) {
      if (this.#at >= limits.file_bytes) return null;
      const { buffer, bytesRead } = await this.#file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, this.#at);
      if (bytesRead === 0) return null;
      this.#at += bytesRead;
      const bytes = buffer.subarray(0, bytesRead);
      const end = bytes.lastIndexOf(10);
      if (end === -1) {
        this.#begin(bytes);
        continue;
      }
      // The first line may have begun in earlier chunks.
      const first = bytes.indexOf(10);
      this.#begin(bytes.subarray(0, first));
      const begun = this.#length > limits.timeline_line_bytes ? '' : Buffer.concat(this.#begun).toString();
      const others = first === end ? [] : bytes.toString('utf8', first + 1, end).split('\n');
      this.#begun = [];
      this.#length = 0;
      this.#begin(bytes.subarray(end + 1));
      return [begun, ...others];
    }
  }

  /** Keeps a piece of a line, up to the length of a second's. */
  #begin(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > limits.timeline_line_bytes) this.#begun = [];
    else if (piece.length > 0) this.#begun.push(Buffer.from(piece));
  }
}

/** Reads the seconds of a timeline as they are added. */
export class Seconds {
  #lines: Lines;

  constructor(file: FileHandle) {
    this.#lines = new Lines(file);
  }

  /** @returns null if there are no more by now */
  async read(): Promise<Second[] | null> {
    const lines = await this.#lines.read();
    return lines?.flatMap((line) => second(line) ?? []) ?? null;
  }
}
