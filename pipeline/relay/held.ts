import { readQueued } from '../common/hops.ts';
import { bytesOf, frameEnds } from '../queue/frame.ts';
import type { Entry } from '../queue/queue.ts';

/** A message that the relay has claimed and not yet got rid of. */
export interface Held {
  /** Its entry, and where it is in there. */
  readonly of: HeldEntry;
  readonly index: number;
  readonly frame: Buffer;
  /** In `frame`, where the target ends and where the stamps end. */
  readonly targetEnd: number;
  readonly stampsEnd: number;
  /** The ingest's last stamp, µs of the reference clock; NaN: the message carries none. */
  readonly queued: number;
  /** As {@link Entry}'s, of this message. */
  deliveries: number;
  suspect: boolean;
  /** It was handed to the broker before, as far as anybody knows. */
  redelivery: boolean;
  /** While it is in flight, when it was handed to the broker, on the monotonic clock, ms; 0 otherwise. */
  sent: number;
  /** It is delivered, or has an entry of its own. */
  done: boolean;
}

/** An entry that the relay has claimed. Its messages leave the queue together, when all of them are done. */
export interface HeldEntry {
  readonly entry: Entry;
  /** The claim that brought it. */
  readonly batch: Batch;
  readonly messages: Held[];
  /** How many messages it brought, how many of them are not done, and how many are delivered. */
  readonly size: number;
  open: number;
  delivered: number;
  /** Of its messages. */
  readonly bytes: number;
  /** It has left the queue, or another relay has it. */
  gone: boolean;
}

/** What one claim brought. Its messages were claimed at one moment, and share a lease. */
export interface Batch {
  /** µs of the reference clock. */
  readonly claimed: number;
  /** When the lease began or was renewed last, on the monotonic clock, ms. */
  leased: number;
  readonly entries: HeldEntry[];
  /** How many of them are in the queue still. */
  open: number;
}

export function holdEntry(entry: Entry, batch: Batch): HeldEntry {
  // One that has no message is buried as if it were one.
  const size = Math.max(1, entry.frames.length);
  const bytes = bytesOf(entry.frames);
  return { entry, batch, messages: [], size, open: size, delivered: 0, bytes, gone: false };
}

/** Throws a `RangeError` when that is no message. */
export function hold(of: HeldEntry, index: number, redelivery: boolean): Held {
  const { frames, deliveries, suspect } = of.entry;
  const frame = frames[index];
  if (frame === undefined) throw new RangeError('the entry has no frame');
  const { target, stamps } = frameEnds(frame);
  return {
    of,
    index,
    frame,
    targetEnd: target,
    stampsEnd: stamps,
    queued: stamps === target + 1 ? Number.NaN : readQueued(frame, target + 1, stamps),
    deliveries,
    suspect,
    redelivery,
    sent: 0,
    done: false,
  };
}
