import type { SpanOf } from '../common/spans.ts';
import { bytesOf, frameEnds } from '../queue/frame.ts';
import type { Entry } from '../queue/queue.ts';
import { readQueued } from '../shared/hops.ts';

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

/** A message that the relay holds. */
export interface HeldMessage {
  /** Its entry, and its index there. */
  readonly of: HeldEntry;
  readonly index: number;
  readonly frame: Buffer;
  /** The ends of target, stamps and trace in `frame`. */
  readonly targetEnd: number;
  readonly stampsEnd: number;
  readonly traceEnd: number;
  /** The ingest's last stamp, µs of the reference clock; NaN: it has no stamps. */
  readonly queued: number;
  /** Both are as in {@link Entry}, for this message. */
  deliveries: number;
  suspect: boolean;
  /** It may have been published before. */
  redelivery: boolean;
  /** When it was published, ms of the monotonic clock; 0: it is not in flight. */
  sent: number;
  /** It is delivered, or has an entry of its own. */
  done: boolean;
  /** The spans of its last attempt; undefined: none. */
  spans?: SpanOf | undefined;
}

/** An entry that the relay has claimed. It leaves the queue when all of its messages are done. */
export interface HeldEntry {
  readonly entry: Entry;
  /** The claim that brought it. */
  readonly batch: Batch;
  readonly messages: HeldMessage[];
  /** Its messages: all, those not done, those delivered. */
  readonly size: number;
  open: number;
  delivered: number;
  /** Bytes of its messages. */
  readonly bytes: number;
  /** It has left the queue, or another relay has it. */
  gone: boolean;
}

/** The entries of one claim, which share a lease. */
export interface Batch {
  /** µs of the reference clock. */
  readonly claimed: number;
  /** When the lease began or was last renewed, ms of the monotonic clock. */
  leased: number;
  readonly entries: HeldEntry[];
  /** Its entries that are still in the queue. */
  open: number;
}

export function holdEntry(entry: Entry, batch: Batch): HeldEntry {
  // An entry without a message is buried like one message.
  const size = Math.max(1, entry.frames.length);
  const bytes = bytesOf(entry.frames);
  return { entry, batch, messages: [], size, open: size, delivered: 0, bytes, gone: false };
}

/** Decodes a message of an entry. Throws a `RangeError` when it is malformed. */
export function hold(of: HeldEntry, index: number, redelivery: boolean): HeldMessage {
  const { frames, deliveries, suspect } = of.entry;
  const frame = frames[index];
  if (frame === undefined) throw new RangeError('the entry has no frame');
  const { target, stamps, trace } = frameEnds(frame);
  return {
    of,
    index,
    frame,
    targetEnd: target,
    stampsEnd: stamps,
    traceEnd: trace,
    queued: stamps === target + 1 ? Number.NaN : readQueued(frame, target + 1, stamps),
    deliveries,
    suspect,
    redelivery,
    sent: 0,
    done: false,
  };
}
