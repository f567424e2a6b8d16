/** Runs in progress, as server-sent events. However many follow a run, its timeline is read once. */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { End, Plan } from './entry.ts';
import { Seconds } from './timeline.ts';

const POLL_MS = 500;
const HEARTBEAT_MS = 15_000;
/** Seconds in one event. */
const AT_ONCE = 1000;

export interface Source {
  plan: Plan;
  /** @returns null if the run has no timeline */
  open: () => Promise<FileHandle | null>;
  /** @returns null while more may come */
  ended: () => Promise<End | null>;
}

/** The runs that somebody follows. */
export class Followed {
  #runs = new Map<string, Timeline>();

  /**
   * A run as server-sent events: first its `plan`, then `seconds` (an array) as they come, `end` with its verdict when it has. Comments in
   * between keep the connection alive.
   * @param run its directory
   * @param signal the follower has left
   * @returns null if the run has no timeline
   */
  async follow(run: string, source: Source, signal: AbortSignal): Promise<AsyncGenerator<string> | null> {
    const file = this.#runs.has(run) ? null : await source.open();
    const begun = this.#runs.get(run);
    if (begun !== undefined) {
      await file?.close(); // somebody else has opened it meanwhile
      return begun.events(source.plan, begun.enter(signal));
    }
    if (file === null) return null;
    const timeline: Timeline = new Timeline(() => {
      if (this.#runs.get(run) === timeline) this.#runs.delete(run);
    });
    this.#runs.set(run, timeline);
    const entered = timeline.enter(signal);
    timeline.begin(file, source);
    return timeline.events(source.plan, entered);
  }
}

/** The timeline of a run while somebody follows it. */
class Timeline {
  /** The seconds that have been read, each as JSON. */
  #seconds: string[] = [];
  #state: 'reading' | 'left' | End | Error = 'reading';
  #beats = 0;
  #changed = Promise.withResolvers<void>();
  #followers = 0;
  #left = new AbortController();
  #forget: () => void;

  constructor(forget: () => void) {
    this.#forget = forget;
  }

  /** A follower comes, until its signal is aborted. */
  enter(signal: AbortSignal): AbortSignal {
    this.#followers++;
    const leave = () => {
      this.#followers--;
      if (this.#followers === 0) {
        this.#forget();
        this.#left.abort();
      }
      this.#tell();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return signal;
  }

  begin(file: FileHandle, source: Source): void {
    this.#read(file, source)
      .catch((error: Error) => error)
      .then(async (state) => {
        this.#state = state;
        this.#forget();
        this.#tell();
        await file.close().catch(() => {}); // it was only read
      });
  }

  async *events(plan: Plan, signal: AbortSignal): AsyncGenerator<string> {
    yield `event: plan\ndata: ${JSON.stringify(plan)}\n\n`;
    let beat = this.#beats;
    for (let sent = 0; !signal.aborted; ) {
      const changed = this.#changed.promise;
      if (sent < this.#seconds.length) {
        const some = this.#seconds.slice(sent, sent + AT_ONCE);
        sent += some.length;
        beat = this.#beats;
        yield `event: seconds\ndata: [${some.join(',')}]\n\n`;
      } else if (this.#state instanceof Error) {
        throw this.#state;
      } else if (this.#state === 'left') {
        return;
      } else if (this.#state !== 'reading') {
        yield `event: end\ndata: ${JSON.stringify(this.#state)}\n\n`;
        return;
      } else if (beat !== this.#beats) {
        beat = this.#beats;
        yield ': still here\n\n';
      } else {
        await changed;
      }
    }
  }

  /** Reads until the run has ended, or nobody follows any more. */
  async #read(file: FileHandle, { ended }: Source): Promise<End | 'left'> {
    const seconds = new Seconds(file);
    const { signal } = this.#left;
    let told = performance.now();
    while (!signal.aborted) {
      // Asked first: what was written before the end is read after it.
      const end = await ended();
      const before = this.#seconds.length;
      for (let more = await seconds.read(); more !== null && !signal.aborted; more = await seconds.read()) {
        for (const one of more) this.#seconds.push(JSON.stringify(one));
        if (more.length > 0) this.#tell();
      }
      if (end !== null) return end;
      if (this.#seconds.length > before) told = performance.now();
      if (performance.now() - told > HEARTBEAT_MS) {
        told = performance.now();
        this.#beats++;
        this.#tell();
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    }
    return 'left';
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
