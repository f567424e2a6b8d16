/** Shows the progress of a run, a line a second, from the files that it writes: k6 knows only its iterations. */
import { closeSync, globSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import hdr from 'hdr-histogram-js';
import { printable } from '../../pipeline/shared/printable.ts';
import type { Interval, Run } from '../../reports/contract/run.ts';
import { count, figure, ms } from '../../reports/format.ts';
import { ruleOf } from '../../reports/rules.ts';

const LOOK_MS = 1000;
/** Without a terminal, as in CI, it prints a line at each phase, and otherwise at most one in so many seconds. */
const SELDOM_S = 10;
/** The bytes of one read. A second of a run is far less. */
const PIECE = 2 ** 20;

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'> & { columns?: number };
/** The width of a terminal that does not say its own. */
const COLUMNS = 80;

/** The output for progress: a terminal that knows no control characters gets lines, as a log does. */
export function terminalOf({ stderr: out }: { stderr: Output }, { TERM }: NodeJS.ProcessEnv): Output {
  return TERM === 'dumb' ? { isTTY: false, write: out.write.bind(out) } : out;
}

/** The figures of a line. */
type Second = Pick<Interval, 't' | 'phase' | 'requests' | 'backlog'> & {
  /** Requests of its phase, up to its end. */
  sent: number;
  /** Messages of the run that were refused, or of which nobody knows. */
  refused: number;
};

export class Progress {
  readonly #dir: string;
  readonly #out: Output;
  readonly #timer = setInterval(() => this.look(), LOOK_MS);
  readonly #arrival = hdr.build({ numberOfSignificantValueDigits: 3, autoResize: true });
  /** Bytes of a file that have been read. */
  readonly #read: Record<string, number> = {};
  #planned: Plan | undefined;
  /** When the phases of each instance began, by directory. */
  readonly #begun = new Map<string, { t: number; phase: string | null }[]>();
  #phase: { name: string | null; number: number; since: number } = { name: null, number: 0, since: 0 };
  /** The last second of each instance, by directory. */
  readonly #last = new Map<string, Second>();
  /** The second that was shown last. */
  #shownAt = -SELDOM_S;

  constructor(dir: string, out: Output) {
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
    for (const { t, phase } of rows) this.#note(dir, t, phase);
    for (const line of this.#added(join(dir, 'arrival.hlog'))) {
      const [, second, histogram] = /^Tag=arrival,([\d.]+),.*,([^,]+)$/.exec(line) ?? [];
      if (histogram && this.#isMeasured(dir, Number(second)))
        this.#arrival.add(hdr.decodeFromCompressedBase64(histogram));
    }
    for (const row of rows) {
      const last = this.#last.get(dir);
      const sent = row.requests + (last?.phase === row.phase ? last.sent : 0);
      const refused = (row.rejected ?? 0) + (row.failed ?? 0) + (last?.refused ?? 0);
      this.#last.set(dir, { ...row, sent, refused });
    }
  }

  /** Remembers when a phase of an instance began. */
  #note(dir: string, t: number, phase: string | null): void {
    const begun = this.#begun.get(dir) ?? [];
    if (begun.at(-1)?.phase !== phase) begun.push({ t, phase });
    this.#begun.set(dir, begun);
  }

  /** Whether what arrives in a second of an instance counts: unmeasured phases do not, the drain does. */
  #isMeasured(dir: string, second: number): boolean {
    const phase = this.#begun.get(dir)?.findLast(({ t }) => t <= second)?.phase;
    return phase === null || this.#plan().phases.find(({ name }) => name === phase)?.measured !== false;
  }

  #plan(): Plan {
    const path = join(this.#instances()[0] as string, 'run.json');
    this.#planned ??= planOf(JSON.parse(readFileSync(path, 'utf8')) as Run);
    return this.#planned;
  }

  /** The sum of all instances, at the second of the slowest one. */
  #second(): Second | undefined {
    const all = [...this.#last.values()];
    if (all.length === 0 || all.length < this.#instances().length) return undefined;
    const sum = (of: (one: Second) => number) => all.reduce((total, one) => total + of(one), 0);
    const { t, phase } = all.reduce((least, one) => (one.t < least.t ? one : least));
    return {
      t,
      phase,
      requests: sum((one) => one.requests),
      sent: sum((one) => one.sent),
      backlog: sum((one) => one.backlog),
      refused: sum((one) => one.refused),
    };
  }

  /** The complete lines that were added to a file since the last call. */
  #added(path: string): string[] {
    const read = this.#read[path] ?? 0;
    const added = piece(path, read);
    const end = added.lastIndexOf('\n') + 1;
    this.#read[path] = read + end;
    return added.toString('utf8', 0, end).split('\n').slice(0, -1);
  }

  #show(second: Second): void {
    const { phases, limit } = this.#plan();
    const { t, phase: name, requests, sent, backlog, refused } = second;
    const isNew = name !== this.#phase.name || t === 0;
    if (isNew) {
      const number = phases.findIndex((phase, i) => i >= this.#phase.number && phase.name === name) + 1;
      this.#phase = { name, number: number || this.#phase.number, since: t };
    }
    if (!this.#out.isTTY && !isNew && t - this.#shownAt < SELDOM_S) return;
    this.#shownAt = t;
    const { number, since } = this.#phase;
    const ahead = phases.slice(number - 1);
    const planned = ahead.reduce((sum, { duration_s }) => sum + duration_s, 0);
    const bound = ahead[0]?.requests;
    const left =
      bound === undefined
        ? `${clock(Math.max(0, planned - (t + 1 - since)))} left`
        : `${count(sent)} of ${count(bound)} requests`;
    const p99 = this.#arrival.totalCount === 0 ? null : this.#arrival.getValueAtPercentile(99) / 1000;
    const figures: Figures = {
      ...{ t, number, of: phases.length, name, left: name === null ? '' : left, requests, backlog },
      ...{ p99, limit, state: stateOf(p99, limit, refused, name === null && backlog > 0) },
    };
    if (!this.#out.isTTY) this.#out.write(`${wide(figures)}\n`);
    else this.#out.write(`\x1b[2K${fitting(figures, (this.#out.columns || COLUMNS) - 1)}\r`);
  }
}

interface Plan {
  phases: Run['run']['profile']['phases'];
  /** The limit of arrival p99, ms; null: none is set. */
  limit: number | null;
}

function planOf(run: Run): Plan {
  return {
    phases: run.run.profile.phases,
    limit: run.verdict ? (ruleOf(run, 'arrival_p99')?.limit ?? null) : null,
  };
}

interface Figures {
  t: number;
  name: string | null;
  number: number;
  of: number;
  left: string;
  requests: number;
  /** The p99 of the arrival so far, ms. */
  p99: number | null;
  limit: number | null;
  backlog: number;
  state: string;
}

/** Reasons for which the run would fail if it ended now; empty: messages are missing, and the backlog says how many. */
function stateOf(p99: number | null, limit: number | null, refused: number, missing: boolean): string {
  if (refused > 0) return `${count(refused)} failed`;
  if (p99 !== null && limit !== null && p99 >= limit) return 'too slow';
  return missing ? '' : 'good so far';
}

/** The line for a log, and for a terminal that has room. */
function wide({ t, name, number, of, left, requests, p99, limit, backlog, state }: Figures): string {
  const most = limit === null ? '' : ` (limit ${figure(limit)} ms)`;
  return joined(
    `  ${clock(t + 1)}  ${label(name, number, `${number} of ${of}`)}`,
    left,
    `${count(requests)} requests/s`,
    `arrival p99 so far ${p99 === null ? 'n/a' : `${ms(p99)} ms`}${most}`,
    `backlog ${count(backlog)}`,
    state,
  );
}

/** The longest form that fits: a longer line would scroll a terminal each second. */
function fitting(figures: Figures, columns: number): string {
  const { t, name, number, of, left, requests, p99, limit, backlog, state } = figures;
  const at = `${clock(t + 1)} ${label(name, number, `${number}/${of}`)}`;
  const short = p99 === null ? 'p99 n/a' : `p99 ${ms(p99)}${limit === null ? '' : ` of ${figure(limit)}`} ms`;
  const [rate, waiting] = [`${count(requests)} requests/s`, `backlog ${count(backlog)}`];
  const forms = [
    wide(figures),
    joined(`  ${at}`, left, rate, short, waiting, state),
    joined(at, left, rate, short, state),
    joined(at, rate, short, state),
    joined(clock(t + 1), short, state),
    joined(short, state),
  ];
  const found = forms.find((form) => [...form].length <= columns);
  return found ?? [...(forms.at(-1) as string)].slice(0, Math.max(0, columns)).join('');
}

function joined(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}

/** The most characters of a phase's name. */
const LONGEST_NAME = 24;

function label(phase: string | null, number: number, place: string): string {
  if (phase === null) return number === 0 ? 'before the first phase' : 'waiting for what is on its way';
  const name = printable(
    [...phase].length > LONGEST_NAME ? `${[...phase].slice(0, LONGEST_NAME - 1).join('')}…` : phase,
  );
  return `${name} (${place})`;
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
