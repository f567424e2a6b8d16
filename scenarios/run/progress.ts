/** Shows the progress of a run, a line a second, from the files that it writes: k6 knows only its iterations. */
import { closeSync, globSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import hdr from 'hdr-histogram-js';
import type { Interval, Run } from '../../reports/contract/run.ts';

const LOOK_MS = 1000;
/** Without a terminal, as in CI: a line at each phase, and at most one in so many seconds. */
const SELDOM_S = 10;
/** Bytes of one read: a second of a run is far less. */
const PIECE = 2 ** 20;

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/** The figures of a line. */
type Second = Pick<Interval, 't' | 'phase' | 'requests' | 'backlog'> & {
  /** Requests of its phase, up to its end. */
  sent: number;
};

export class Progress {
  readonly #dir: string;
  readonly #out: Output;
  readonly #timer = setInterval(() => this.look(), LOOK_MS);
  readonly #arrival = hdr.build({ numberOfSignificantValueDigits: 3, autoResize: true });
  /** How many bytes of a file have been read. */
  readonly #read: Record<string, number> = {};
  #phases: Run['run']['profile']['phases'] | undefined;
  #phase: { name: string | null; number: number; since: number } = { name: null, number: 0, since: 0 };
  /** The last second of each instance, by directory. */
  readonly #last = new Map<string, Second>();
  /** The second that was shown last. */
  #shownAt = -SELDOM_S;

  constructor(dir: string, out: Output = process.stderr) {
    this.#dir = dir;
    this.#out = out;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Shows the progress if there is any, until the run has ended: its summary follows. */
  look(): void {
    try {
      const before = this.#second()?.t ?? -1;
      for (const dir of this.#instances()) this.#take(dir);
      const second = this.#second();
      if (second !== undefined && second.t > before) this.#show(second);
    } catch {
      // It has not begun, or its files are gone: the run reports the error.
    }
  }

  /** The directories of the instances: `generator-1` and so on, or of a single one the run's. */
  #instances(): string[] {
    const parts = globSync('generator-*', { cwd: this.#dir });
    return parts.length === 0 ? [this.#dir] : parts.map((part) => join(this.#dir, part));
  }

  #take(dir: string): void {
    const rows = this.#added(join(dir, 'timeline.ndjson')).map((row): Interval => JSON.parse(row));
    if (rows.length === 0 || /"ended":\s*"/.test(piece(join(dir, 'run.json')).toString())) return;
    for (const line of this.#added(join(dir, 'arrival.hlog'))) {
      const histogram = /^Tag=arrival,.*,([^,]+)$/.exec(line)?.[1];
      if (histogram) this.#arrival.add(hdr.decodeFromCompressedBase64(histogram));
    }
    for (const row of rows) {
      const last = this.#last.get(dir);
      this.#last.set(dir, { ...row, sent: row.requests + (last?.phase === row.phase ? last.sent : 0) });
    }
  }

  /** The sum of all instances, at the second of the slowest one. */
  #second(): Second | undefined {
    const all = [...this.#last.values()];
    if (all.length === 0 || all.length < this.#instances().length) return undefined;
    const sum = (of: (one: Second) => number) => all.reduce((total, one) => total + of(one), 0);
    const { t, phase } = all.reduce((least, one) => (one.t < least.t ? one : least));
    const [requests, sent, backlog] = [
      sum((one) => one.requests),
      sum((one) => one.sent),
      sum((one) => one.backlog),
    ];
    return { t, phase, requests, sent, backlog };
  }

  /** The complete lines that were added to a file since the last call. */
  #added(path: string): string[] {
    const read = this.#read[path] ?? 0;
    const added = piece(path, read);
    const end = added.lastIndexOf('\n') + 1;
    this.#read[path] = read + end;
    return added.toString('utf8', 0, end).split('\n').slice(0, -1);
  }

  #show({ t, phase: name, requests, sent, backlog }: Second): void {
    this.#phases ??= (
      JSON.parse(readFileSync(join(this.#instances()[0] as string, 'run.json'), 'utf8')) as Run
    ).run.profile.phases;
    const phases = this.#phases;
    const isNew = name !== this.#phase.name || t === 0;
    if (isNew) {
      const number = phases.findIndex((phase, i) => i >= this.#phase.number && phase.name === name) + 1;
      this.#phase = { name, number: number || this.#phase.number, since: t };
    }
    const { number, since } = this.#phase;
    const ahead = phases.slice(number - 1);
    const planned = ahead.reduce((sum, { duration_s }) => sum + duration_s, 0);
    const bound = ahead[0]?.requests;
    const left =
      bound === undefined
        ? `${clock(Math.max(0, planned - (t + 1 - since)))} left`
        : `${sent.toLocaleString('en')} of ${bound.toLocaleString('en')} requests`;
    const p99 = this.#arrival.getValueAtPercentile(99) / 1000;
    const line = [
      `  ${clock(t + 1)}  ${label(name, number, phases.length)}`,
      ...(name === null ? [] : [left]),
      `${requests.toLocaleString('en')} requests/s`,
      `arrival p99 so far ${this.#arrival.totalCount === 0 ? 'n/a' : `${p99.toPrecision(p99 < 100 ? 3 : 4)} ms`}`,
      `backlog ${backlog.toLocaleString('en')}`,
    ].join(' · ');
    if (!this.#out.isTTY && !isNew && t - this.#shownAt < SELDOM_S) return;
    this.#shownAt = t;
    this.#out.write(this.#out.isTTY ? `\x1b[2K${line}\r` : `${line}\n`);
  }
}

function label(phase: string | null, number: number, of: number): string {
  if (phase !== null) return `${phase} (${number} of ${of})`;
  return number === 0 ? 'before the first phase' : 'waiting for what is on its way';
}

function piece(path: string, from = 0): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(PIECE);
    return bytes.subarray(0, readSync(file, bytes, 0, PIECE, from));
  } finally {
    closeSync(file);
  }
}

function clock(seconds: number): string {
  const s = Math.round(seconds);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}
