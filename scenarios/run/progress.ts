/** How far a run is, a line a second: read from the files that it writes, since k6 knows only its iterations. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import hdr from 'hdr-histogram-js';
import type { Interval, Run } from '../../reports/contract/run.ts';

const LOOK_MS = 1000;
/** Where nobody watches, as in CI: a line at each phase, and so many seconds after the last one. */
const SELDOM_S = 10;

/** The lines that have been added to a file since the last time, as far as they are whole. */
class Tail {
  readonly #path: string;
  #read = 0;

  constructor(path: string) {
    this.#path = path;
  }

  lines(): string[] {
    const added = readFrom(this.#path, this.#read);
    const end = added.lastIndexOf('\n') + 1;
    this.#read += end;
    return added.toString('utf8', 0, end).split('\n').slice(0, -1);
  }
}

/** What a file has from a byte on, 1 MB at most: a second of a run is far less. */
function readFrom(path: string, byte: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(2 ** 20);
    return chunk.subarray(0, readSync(file, chunk, 0, chunk.length, byte));
  } finally {
    closeSync(file);
  }
}

export class Progress {
  readonly #run: string;
  readonly #timeline: Tail;
  readonly #log: Tail;
  readonly #out: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
  readonly #arrival = hdr.build({ numberOfSignificantValueDigits: 3, autoResize: true });
  readonly #timer: NodeJS.Timeout;
  #phases: Run['run']['profile']['phases'] | undefined;
  /** The phase that goes on, and the second it began in. */
  #at = { phase: -1, since: 0 };
  #told = -SELDOM_S;

  constructor(dir: string, out: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr) {
    this.#run = join(dir, 'run.json');
    this.#timeline = new Tail(join(dir, 'timeline.ndjson'));
    this.#log = new Tail(join(dir, 'arrival.hlog'));
    this.#out = out;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Shows how far the run is, unless nothing has been added since, or it has ended: its summary follows. */
  look(): void {
    try {
      const row = this.#timeline.lines().at(-1);
      if (row === undefined || /"ended":\s*"/.test(readFrom(this.#run, 0).toString())) return;
      this.#phases ??= (JSON.parse(readFileSync(this.#run, 'utf8')) as Run).run.profile.phases;
      for (const line of this.#log.lines()) {
        const histogram = /^Tag=arrival,.*,([^,]+)$/.exec(line)?.[1];
        if (histogram) this.#arrival.add(hdr.decodeFromCompressedBase64(histogram));
      }
      this.#show(JSON.parse(row), this.#phases);
    } catch {
      // It has not begun, or its files are gone: the run itself says what is wrong.
    }
  }

  #show(row: Interval, phases: Run['run']['profile']['phases']): void {
    const second = row.t + 1;
    const phase = phases.findIndex(({ name }, i) => i >= this.#at.phase && name === row.phase);
    const isNew = phase !== this.#at.phase;
    if (isNew) this.#at = { phase: Math.max(phase, this.#at.phase), since: row.t };
    const next = phases.slice(phase + 1).reduce((sum, { duration_s }) => sum + duration_s, 0);
    const left = next + Math.max(0, (phases[phase]?.duration_s ?? 0) - (second - this.#at.since));
    const step =
      phase < 0 ? 'waiting for what is on its way' : `${row.phase} (${phase + 1} of ${phases.length})`;
    const p99 =
      this.#arrival.totalCount > 0 ? `${digits(this.#arrival.getValueAtPercentile(99) / 1000)} ms` : 'n/a';
    const line = [
      `${clock(second)}  ${step}`,
      ...(phase < 0 ? [] : [`${clock(left)} left`]),
      `${row.requests.toLocaleString('en')} requests/s`,
      `arrival p99 so far ${p99}`,
      `backlog ${row.backlog.toLocaleString('en')}`,
    ].join(' · ');
    if (this.#out.isTTY) this.#out.write(`\x1b[2K  ${line}\r`);
    else if (isNew || second - this.#told >= SELDOM_S) {
      this.#told = second;
      this.#out.write(`  ${line}\n`);
    }
  }
}

const digits = (value: number) => (value < 100 ? value.toPrecision(3) : value.toFixed(0));

function clock(seconds: number): string {
  const s = Math.round(seconds);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}
