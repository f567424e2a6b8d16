import { bytesOf, ENTRY_FRAMES } from './frame.ts';
import type { Entry } from './queue.ts';

/** Bytes that one claim is to bring at most, as far as the claims before it tell. */
const CLAIM_BYTES = 16_777_216;
/** Entries of the first claim, of which nothing is known: each may be a message as large as there are. */
const FIRST = 8;

/** What an entry is thought to hold at most: what those of the last claims held. Redis counts entries, whatever is in them. */
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
