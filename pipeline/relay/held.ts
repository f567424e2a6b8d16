import { readQueued } from '../hops.ts';
import { frameEnds } from '../queue/frame.ts';
import type { Entry } from '../queue/queue.ts';

/** A message that the relay has claimed and not yet got rid of. */
export interface Held {
  readonly entry: Entry;
  /** The claim that brought it. */
  readonly batch: Batch;
  readonly frame: Buffer;
  /** In `frame`, where the target ends and where the stamps end. */
  readonly targetEnd: number;
  readonly stampsEnd: number;
  /** The ingest's last stamp, µs of the reference clock; NaN: the message carries none. */
  readonly queued: number;
  /** It was handed to the broker before, as far as anybody knows. */
  redelivery: boolean;
  /** The MQTT packet identifier while it is in flight; 0 otherwise. */
  packetId: number;
  /** The how manieth publication it was. */
  order: number;
  /** When it was handed to the broker, on the monotonic clock, ms. */
  sent: number;
  /** It has left the queue. */
  done: boolean;
}

/** What one claim brought. Its messages were claimed at one moment, and share a lease. */
export interface Batch {
  /** µs of the reference clock. */
  readonly claimed: number;
  /** When the lease began or was renewed last, on the monotonic clock, ms. */
  leased: number;
  readonly held: Held[];
  /** How many of them are not done. */
  open: number;
}

/** Throws a `RangeError` when the entry is no message. */
export function hold(entry: Entry, batch: Batch, redelivery: boolean): Held {
  const { frame } = entry;
  if (frame === undefined) throw new RangeError('the entry has no frame');
  const { target, stamps } = frameEnds(frame);
  return {
    entry,
    batch,
    frame,
    targetEnd: target,
    stampsEnd: stamps,
    queued: stamps === target + 1 ? Number.NaN : readQueued(frame, target + 1, stamps),
    redelivery,
    packetId: 0,
    order: 0,
    sent: 0,
    done: false,
  };
}
