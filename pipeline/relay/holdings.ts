import type { Entry } from '../queue/queue.ts';
import { type Batch, type HeldEntry, holdEntry } from './held.ts';

/** What a relay has claimed and not got rid of yet. */
export class Holdings {
  readonly #batches = new Set<Batch>();
  #messages = 0;
  #bytes = 0;
  #delivered = 0;

  /** What is held, by claim. */
  get batches(): ReadonlySet<Batch> {
    return this.#batches;
  }

  /** The entries that are in the queue still, oldest claim first. */
  get entries(): HeldEntry[] {
    return [...this.#batches].flatMap(({ entries }) => entries.filter(({ gone }) => !gone));
  }

  /** The ids of these, and of some that have just gone. */
  ids(): Set<string> {
    return new Set([...this.#batches].flatMap(({ entries }) => entries.map(({ entry }) => entry.id)));
  }

  /** How many messages the entries have. */
  get messages(): number {
    return this.#messages;
  }

  /** How many bytes these have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many of them are delivered, in entries all of whose messages are. */
  get delivered(): number {
    return this.#delivered;
  }

  /** @param claimed when, in µs of the reference clock. */
  take(entries: readonly Entry[], claimed: number): readonly HeldEntry[] {
    const batch: Batch = { claimed, leased: performance.now(), entries: [], open: entries.length };
    this.#batches.add(batch);
    for (const entry of entries) {
      const held = holdEntry(entry, batch);
      batch.entries.push(held);
      this.#messages += held.size;
      this.#bytes += held.bytes;
    }
    return batch.entries;
  }

  /** All messages of an entry are delivered, or have entries of their own. It stays until it is acknowledged. */
  done(entry: HeldEntry): void {
    this.#delivered += entry.delivered;
  }

  /** It is acknowledged. */
  acknowledged(entry: HeldEntry): void {
    this.#delivered -= entry.delivered;
    this.drop(entry);
  }

  /** The entry is out of the queue, or another relay's. */
  drop(entry: HeldEntry): void {
    if (entry.gone) return;
    entry.gone = true;
    this.#messages -= entry.size;
    this.#bytes -= entry.bytes;
    if (--entry.batch.open === 0) this.#batches.delete(entry.batch);
  }

  /** Drops these entries, but for those that are delivered or have messages in flight. Returns the ids of what it dropped. */
  giveUp(ids: readonly string[]): string[] {
    const wanted = new Set(ids);
    const idle = ({ open, messages }: HeldEntry) => open > 0 && messages.every(({ sent }) => sent === 0);
    const given = this.entries.filter((held) => wanted.has(held.entry.id) && idle(held));
    for (const held of given) this.drop(held);
    return given.map(({ entry }) => entry.id);
  }
}
