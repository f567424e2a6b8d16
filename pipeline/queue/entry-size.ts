import { bytesOf, ENTRY_FRAMES } from './frame.ts';
import type { Entry } from './queue.ts';

/** The target of bytes in one claim. */
const CLAIM_BYTES = 16_777_216;
/** Entries of the first claim: each may hold the largest possible message. */
const FIRST = 8;

/** Estimates the size of entries from the last claims: Redis' COUNT is in entries, whatever they hold. */
export class EntrySize {
  /** Bytes of one claim. */
  readonly most: number;
  #messages: number;
  #bytes: number;

  /**
   * @param messages of an entry, at most.
   * @param readers how many claim at once, and share the bytes.
   */
  constructor(messages = ENTRY_FRAMES, readers = 1) {
    this.#messages = messages;
    this.most = CLAIM_BYTES / readers;
    this.#bytes = this.most / FIRST;
  }

  /** How many entries to ask for. */
  entriesFor(messages: number): number {
    const most = Math.max(1, Math.floor(this.most / this.#bytes));
    return Math.min(Math.ceil(messages / this.#messages), most);
  }

  /** A claim brought these. */
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
  }
}
