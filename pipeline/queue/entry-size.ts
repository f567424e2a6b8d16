import { bytesOf, ENTRY_FRAMES } from './frame.ts';
import { isDisconnection } from './problems.ts';
import type { Entry } from './queue.ts';

/** The target of bytes in one claim. */
const CLAIM_BYTES = 16_777_216;
/** Entries of the first claim: each may hold the largest possible message. */
const FIRST = 8;
/** A claim after one whose connection broke is so many times smaller. */
const LESS = 16;
/** Bytes of an answer that Redis has room for in any case. */
const LEAST_BYTES = 16_384;
/** ms until a claim may be twice as large again. */
const GROW_MS = 60_000;

/** The smallest value of Redis' proto-max-bulk-len: Redis takes any value of so many bytes. */
const LARGE_BYTES = 1_048_576;

/** The bytes of the largest of these values, if it has more than any queue takes; else 0. */
export function largeIn(values: readonly string[]): number {
  // A character has 3 bytes at most.
  const long = values.filter(({ length }) => 3 * length > LARGE_BYTES);
  const most = Math.max(0, ...long.map((value) => Buffer.byteLength(value)));
  return most > LARGE_BYTES ? most : 0;
}

/** Estimates the size of entries from the last claims: Redis' COUNT is in entries, whatever they hold. */
export class EntrySize {
  /** Bytes of one claim, unless an answer broke the connection. */
  readonly #most: number;
  readonly #now: () => number;
  #limit: number;
  /** When the limit may grow again. */
  #grows = 0;
  #messages: number;
  #bytes: number;

  /**
   * @param messages the most that an entry holds
   * @param readers how many claim at once, and share the bytes
   * @param now ms of the monotonic clock
   */
  constructor(messages = ENTRY_FRAMES, readers = 1, now = () => performance.now()) {
    this.#messages = messages;
    this.#most = Math.floor(CLAIM_BYTES / readers); // recover-entries.lua cuts an entry there: whole bytes
    this.#limit = this.#most;
    this.#bytes = this.#most / FIRST;
    this.#now = now;
  }

  /** Bytes of one claim. */
  get limit(): number {
    return this.#limit;
  }

  /** How many entries to ask for. */
  entriesFor(messages: number): number {
    const most = Math.max(1, Math.floor(this.#limit / this.#bytes));
    return Math.min(Math.ceil(messages / this.#messages), most);
  }

  /**
   * Waits for the answer to a claim. If its connection breaks, it may have been larger than Redis lets a client have
   * (client-output-buffer-limit): the next ones are smaller.
   */
  async watch<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((error) => {
      if (isDisconnection(error)) {
        this.#limit = Math.min(this.#limit, Math.max(LEAST_BYTES, Math.floor(this.#limit / LESS)));
        this.#grows = this.#now() + GROW_MS;
      }
      throw error;
    });
  }

  /** Learns from the entries that a claim brought. */
  note(entries: readonly Pick<Entry, 'frames'>[]): void {
    if (entries.length === 0) return;
    let messages = Math.ceil(this.#messages / 2);
    let bytes = Math.ceil(this.#bytes / 2);
    for (const { frames } of entries) {
      messages = Math.max(messages, frames.length);
      bytes = Math.max(bytes, bytesOf(frames));
    }
    this.#messages = messages;
    this.#bytes = bytes;
    if (this.#limit === this.#most || this.#now() < this.#grows) return;
    this.#limit = Math.min(this.#most, 2 * this.#limit);
    this.#grows = this.#now() + GROW_MS;
  }
}
