/**
 * Wakes at times to nearly a microsecond. Node's timers tick in whole milliseconds, which would add half of one to each arrival.
 * So a thread waits in the kernel, and wakes the event loop of the sender.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { monotonic } from './thread.ts';

/** Cells: SET counts the times that were set; RUNG is the last one that has come. */
export const [SET, RUNG] = [0, 1];

export interface Shared {
  cells: Int32Array<SharedArrayBuffer>;
  /** The time that is set, µs of the monotonic clock. */
  time: Float64Array<SharedArrayBuffer>;
}

export class Alarm {
  readonly #shared: Shared = {
    cells: new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)),
    time: new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)),
  };
  /** Times, ascending. */
  readonly #waiting: { time: number; ring: () => void }[] = [];

  /** The extension is that of this file: the packed plugin is JavaScript. */
  readonly #thread = new Worker(new URL(`alarm-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: this.#shared,
  });

  async end(): Promise<void> {
    await this.#thread.terminate();
  }

  /** Resolves at a time, never before it. µs of the monotonic clock. */
  at(time: number): Promise<void> {
    return new Promise((ring) => {
      const before = this.#waiting.findLastIndex((other) => other.time <= time);
      this.#waiting.splice(before + 1, 0, { time, ring });
      if (before < 0) this.#set();
    });
  }

  /** Sets the next time, and waits until it has come. */
  #set(): void {
    const { cells, time } = this.#shared;
    const now = monotonic();
    while (this.#waiting[0] !== undefined && this.#waiting[0].time <= now) this.#waiting.shift()?.ring();
    const [next] = this.#waiting;
    if (next === undefined) return;
    // Read before the time is set, as it may come before we wait for it.
    const last = Atomics.load(cells, RUNG);
    time[0] = next.time;
    const set = Atomics.add(cells, SET, 1) + 1;
    Atomics.notify(cells, SET);
    const rung = Atomics.waitAsync(cells, RUNG, last);
    void Promise.resolve(rung.value).then(() => {
      if (Atomics.load(cells, SET) === set) this.#set();
    });
  }
}
