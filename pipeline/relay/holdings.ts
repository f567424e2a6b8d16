import type { Entry } from '../queue/queue.ts';
import { type Batch, type HeldEntry, holdEntry } from './held.ts';

/** The entries that a relay holds. */
export class Holdings {
  readonly #batches = new Set<Batch>();
  #messages = 0;
  #bytes = 0;
  #delivered = 0;

  /** The held entries, by claim. */
  get batches(): ReadonlySet<Batch> {
    return this.#batches;
  }

  /** The held entries that are still in the queue, oldest claim first. */
  get entries(): HeldEntry[] {
    return [...this.#batches].flatMap(({ entries }) => entries.filter(({ gone }) => !gone));
  }

  /** Their ids, and those of some that have just gone. */
  ids(): Set<string> {
    return new Set([...this.#batches].flatMap(({ entries }) => entries.map(({ entry }) => entry.id)));
  }

  /** The number of their messages. */
  get messages(): number {
    return this.#messages;
  }

  /** The bytes of their messages. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Delivered messages, in entries that are completely delivered. */
  get delivered(): number {
    return this.#delivered;
  }

  /** @param claimed time of the claim, µs of the reference clock */
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

  /** Marks an entry as done: its messages are delivered, or have their own entries. It stays until its acknowledgement. */
  done(entry: HeldEntry): void {
    this.#delivered += entry.delivered;
  }

  /** Removes an acknowledged entry. */
  acknowledged(entry: HeldEntry): void {
    this.#delivered -= entry.delivered;
    this.drop(entry);
  }

  /** Drops an entry that is out of the queue, or another relay's. */
  drop(entry: HeldEntry): void {
    if (entry.gone) return;
    entry.gone = true;
    this.#messages -= entry.size;
    this.#bytes -= entry.bytes;
    if (--entry.batch.open === 0) this.#batches.delete(entry.batch);
  }

  /** Drops these entries, except those delivered or with messages in flight. Returns the dropped ids. */
  giveUp(ids: readonly string[]): string[] {
    const wanted = new Set(ids);
    const idle = ({ open, messages }: HeldEntry) => open > 0 && messages.every(({ sent }) => sent === 0);
    const given = this.entries.filter((held) => wanted.has(held.entry.id) && idle(held));
    for (const held of given) this.drop(held);
    return given.map(({ entry }) => entry.id);
  }
}
