import { splitTrace } from '../queue/frame.ts';

/** A message for MQTT. */
export interface Publication {
  topic: string;
  payload: Buffer;
  qos: 0 | 1;
  dup: boolean;
  /** A user property; undefined: none. */
  hops: string | undefined;
  /** The text in the frame for the user properties `traceparent` and `tracestate`; empty: neither. */
  trace: string;
}

/** Bytes of a PUBLISH packet, and of the payload in it. */
export interface Size {
  packet: number;
  payload: number;
}

export function packetSizeOf({ topic, payload, qos, hops, trace }: Publication): Size {
  // A user property has an identifier, a name and a value (MQTT 5, 3.3.2).
  let properties = hops === undefined ? 0 : 1 + 2 + 'hops'.length + 2 + hops.length;
  if (trace !== '') {
    for (const [name, value] of Object.entries(splitTrace(trace))) {
      properties += 1 + 2 + name.length + 2 + value.length;
    }
  }
  // Topic, packet id, and the properties behind their length.
  const header = 2 + Buffer.byteLength(topic) + 2 * qos + (properties < 128 ? 1 : 2) + properties;
  const remaining = header + payload.length;
  // The remaining length is written in bytes of 7 bits (1.5.5).
  return { packet: 1 + Math.ceil(Math.log2(remaining + 1) / 7) + remaining, payload: payload.length };
}

/** The user properties of a publication, in the order in which they are sent; undefined: none. */
export function userPropertiesOf({
  hops,
  trace,
}: Pick<Publication, 'hops' | 'trace'>): Record<string, string> | undefined {
  const stamps = hops === undefined ? undefined : { hops };
  return trace === '' ? stamps : { ...stamps, ...splitTrace(trace) };
}

/** ms for which a size that the broker has refused counts: its limit may have been raised since. */
const KEPT_MS = 600_000;

/**
 * What a broker takes, learnt from what it refuses as too large. Some brokers limit the packet, others its payload (Mosquitto's
 * `message_size_limit`): what is at least as large in both is too large for each of them.
 */
export class SizeLimit {
  readonly #now: () => number;
  #refused: Size | undefined;
  #refusedAt = 0;
  /** The largest packet and the largest payload of this connection that no PUBACK follows. */
  #unanswered: Size = { packet: 0, payload: 0 };

  /** @param now ms of the monotonic clock */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Why a packet is too large; undefined: as far as known it is not. `maximum` is what the broker says it takes. */
  problemOf(size: Size, maximum: number): string | undefined {
    if (size.packet > maximum)
      return `a packet of ${size.packet} bytes, and the broker takes ${maximum} at most`;
    if (!this.#exceeds(size)) return undefined;
    return `a packet of ${size.packet} bytes, and the broker has refused one of ${this.#refused?.packet} as too large`;
  }

  /** A message of QoS 0 was published. */
  publishedUnanswered(size: Size): void {
    this.#unanswered = largestOf([this.#unanswered, size]);
  }

  /** The broker has refused a message of this size. */
  refused(size: Size): void {
    const known = this.#kept;
    if (known === undefined || (size.packet <= known.packet && size.payload <= known.payload)) {
      this.#refused = size;
      this.#refusedAt = this.#now();
    }
  }

  /**
   * The broker has ended the connection as a packet was too large: the largest is. Returns whether one of these in flight is too large
   * then, and will not be published again.
   */
  explains(inFlight: readonly Size[]): boolean {
    const largest = largestOf([this.#unanswered, ...inFlight]);
    if (largest.packet > 0) this.refused(largest);
    return inFlight.some((size) => this.#exceeds(size));
  }

  /** The next packets go over another connection. */
  reconnected(): void {
    this.#unanswered = { packet: 0, payload: 0 };
  }

  get #kept(): Size | undefined {
    return this.#now() - this.#refusedAt < KEPT_MS ? this.#refused : undefined;
  }

  #exceeds({ packet, payload }: Size): boolean {
    const limit = this.#kept;
    return limit !== undefined && packet >= limit.packet && payload >= limit.payload;
  }
}

/** The largest packet and the largest payload, which may be of two messages. */
function largestOf(sizes: readonly Size[]): Size {
  return {
    packet: Math.max(...sizes.map(({ packet }) => packet)),
    payload: Math.max(...sizes.map(({ payload }) => payload)),
  };
}
