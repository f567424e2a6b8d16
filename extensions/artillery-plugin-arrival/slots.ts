/** Requests from the recorder: fetched ahead in the open model, one at a time in the closed one. */
import type { Slot } from './thread.ts';

type Waiting = (slot: Slot | undefined) => void;

/** The most requests to fetch ahead, and their most bytes. */
const MOST = 500;
const MOST_BYTES = 8_000_000;

export class Slots {
  readonly #closed: boolean;
  readonly #send: (line: object) => void;
  readonly #most: number;
  /** Requests fetched ahead, in the open model. */
  readonly #ready: Slot[] = [];
  /** Waiting virtual users, in order: the recorder answers in the order of the questions. */
  readonly #waiting: Waiting[] = [];
  #asked = false;
  #exhausted = false;

  /** @param largest bytes of the largest request */
  constructor(closed: boolean, largest: number, send: (line: object) => void) {
    this.#closed = closed;
    this.#send = send;
    this.#most = Math.max(1, Math.min(MOST, Math.floor(MOST_BYTES / largest)));
  }

  /** Whether there are no more requests. */
  get over(): boolean {
    return this.#exhausted && this.#ready.length === 0;
  }

  /**
   * The next request; undefined: there is none.
   * @param flow the flow that is wanted, in the closed model; undefined: the next in turn
   */
  next(flow?: string): Promise<Slot | undefined> {
    if (this.over) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#closed) this.#send({ next: 1, flow });
      else this.#serve();
    });
  }

  /** Adds the recorder's answer. */
  add(slots: Slot[]): void {
    this.#exhausted ||= slots.length === 0;
    if (this.#closed) {
      this.#waiting.shift()?.(slots[0]);
      return;
    }
    this.#asked = false;
    for (const slot of slots) this.#ready.push(slot);
    this.#serve();
  }

  #serve(): void {
    while (this.#waiting.length > 0 && (this.#ready.length > 0 || this.#exhausted)) {
      this.#waiting.shift()?.(this.#ready.shift());
    }
    if (this.#asked || this.#exhausted || this.#ready.length > this.#most / 2) return;
    this.#asked = true;
    this.#send({ next: this.#most });
  }
}
