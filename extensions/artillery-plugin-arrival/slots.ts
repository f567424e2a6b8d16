/** Requests as the recorder hands them out: ahead of their time in the open model, in the closed one each when it is its turn. */
import type { Slot } from './thread.ts';

type Waiting = (slot: Slot | undefined) => void;

/** How many are fetched ahead, at most, and how many bytes they may have. */
const MOST = 500;
const MOST_BYTES = 8_000_000;

export class Slots {
  readonly #closed: boolean;
  readonly #say: (line: object) => void;
  readonly #most: number;
  /** Open model: fetched ahead. */
  readonly #ready: Slot[] = [];
  /** First come, first served: the recorder answers in the order in which it is asked. */
  readonly #waiting: Waiting[] = [];
  #asked = false;
  #exhausted = false;

  /** @param largest bytes of a request, at most */
  constructor(closed: boolean, largest: number, say: (line: object) => void) {
    this.#closed = closed;
    this.#say = say;
    this.#most = Math.max(1, Math.min(MOST, Math.floor(MOST_BYTES / largest)));
  }

  /** Nothing more will be handed out. */
  get over(): boolean {
    return this.#exhausted && this.#ready.length === 0;
  }

  /**
   * The next request; undefined: there is none.
   * @param flow of the closed model; undefined: flows come in turn
   */
  next(flow?: string): Promise<Slot | undefined> {
    if (this.over) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#closed) this.#say({ next: 1, flow });
      else this.#serve();
    });
  }

  /** What the recorder has answered. */
  hear(slots: Slot[]): void {
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
    this.#say({ next: this.#most });
  }
}
