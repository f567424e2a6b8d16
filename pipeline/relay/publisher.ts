import type { Durations } from '../common/durations.ts';
import { formatDeltas } from '../common/hops.ts';
import { splitTrace } from '../queue/trace-context.ts';
import { type Broker, FIRST_FAILURE, PASSING, type Publication, reasonName } from './broker.ts';
import type { Held } from './held.ts';

export interface PublisherOptions {
  broker: Pick<
    Broker,
    'up' | 'reason' | 'receiveMaximum' | 'maximumPacketSize' | 'publish' | 'together' | 'break'
  >;
  qos: 0 | 1;
  /** The most messages in flight; the broker may allow fewer. */
  window: number;
  /** ms without a PUBACK until the connection counts as dead. */
  timeoutMs: number;
  /** The reference clock, µs. */
  now: () => number;
  /** From when a message was claimed until it was handed to the broker. */
  durations: Pick<Durations, 'add'>;
  /** Called with the body of each published message and the time, µs of the reference clock. */
  onPublished?: ((body: Buffer, at: number) => void) | undefined;
  /** Called when the broker (QoS 1) or the kernel (QoS 0) has the message. */
  onDelivered: (held: Held) => void;
  /** Called when the broker refuses a message. `lasting`: because of the message itself. */
  onRefused: (held: Held, reason: string, lasting: boolean) => void;
  /**
   * Called before a message that may break connections is published alone. Resolves with whether to publish it; if not, the
   * publisher forgets it.
   */
  onSuspect: (held: Held, reason: string) => Promise<boolean>;
}

/** Before the target in a topic. */
const TOPIC_PREFIX = 'messages/';
/** Bytes of a topic (MQTT 5, 1.5.4). */
const LONGEST_TOPIC = 65_535;
/** QoS 0: the most bytes that may wait in the socket. */
const UNWRITTEN_BYTES = 65_536;

/**
 * Publishes messages in order, with a bounded number in flight. Messages in flight when the connection broke are suspect, as
 * one of them may be the cause. It publishes them again first, one at a time, so that such a message takes no other along.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  /** The oldest first. */
  readonly #inFlight = new Set<Held>();
  /** Messages to publish, from `#next` on. */
  #waiting: Held[] = [];
  #next = 0;
  #suspects: Held[] = [];
  /** The suspect that is being published. */
  #alone: Held | undefined;
  /** QoS 0: bytes in the socket. */
  #unwritten = 0;
  #flushing = false;
  readonly #deadline: NodeJS.Timeout;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#deadline = setInterval(() => this.#checkDeadline(), options.timeoutMs / 4).unref();
  }

  /** The number of messages in flight. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** How many more messages it can take. */
  get room(): number {
    const waiting = this.#waiting.length - this.#next + this.#suspects.length;
    const about = this.#alone === undefined || this.#inFlight.has(this.#alone) ? 0 : 1;
    return this.#limit - this.#inFlight.size - waiting - about;
  }

  /** Adds a message for {@link flush}. */
  add(held: Held): void {
    if (held.suspect) this.#suspects.push(held);
    else this.#waiting.push(held);
  }

  /** Publishes as many messages as allowed. */
  flush(): void {
    if (!this.#options.broker.up || this.#alone !== undefined) return;
    if (this.#suspects.length > 0) {
      if (this.#inFlight.size === 0) void this.#publishAlone();
      return;
    }
    let room = this.#limit - this.#inFlight.size;
    let bytes = this.#unwritten;
    const burst: Held[] = [];
    while (room-- > 0 && bytes < UNWRITTEN_BYTES && this.#next < this.#waiting.length) {
      const held = this.#waiting[this.#next++] as Held;
      if (this.#options.qos === 0) bytes += held.frame.length;
      burst.push(held);
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    if (burst.length > 0) this.#publish(burst);
  }

  /** Handles a broken connection: messages in flight become suspects. */
  broken(): void {
    const lost = [...this.#inFlight];
    for (const held of lost) {
      this.#release(held);
      held.suspect = true;
    }
    this.#suspects = lost.filter(({ of }) => !of.gone).concat(this.#suspects);
  }

  /** Forgets messages of entries that are gone. */
  forget(): void {
    this.#waiting = this.#waiting.slice(this.#next).filter(({ of }) => !of.gone);
    this.#next = 0;
    this.#suspects = this.#suspects.filter(({ of }) => !of.gone);
  }

  close(): void {
    clearInterval(this.#deadline);
  }

  get #limit(): number {
    const { qos, window, broker } = this.#options;
    return qos === 0 ? window : Math.min(window, broker.receiveMaximum);
  }

  async #publishAlone(): Promise<void> {
    const held = this.#suspects.shift() as Held;
    const { broker, onSuspect } = this.#options;
    this.#alone = held;
    const go = (await onSuspect(held, broker.reason)) && !held.of.gone;
    if (go && broker.up) {
      this.#publish([held]);
      // A packet that is too large is not in flight.
      if (this.#inFlight.size > 0) return;
    } else if (go) {
      this.#suspects.unshift(held);
    }
    this.#alone = undefined;
    this.#flushSoon();
  }

  #publish(burst: readonly Held[]): void {
    const { broker, qos, now, durations, onPublished, onRefused } = this.#options;
    const sent = performance.now();
    const written: Held[] = [];
    let bytes = 0;
    const publish = () => {
      for (const held of burst) {
        const published = now();
        const publication = publicationOf(held, qos, published);
        const problem = problemOf(publication, broker.maximumPacketSize);
        if (problem !== undefined) {
          onRefused(held, problem, true);
          continue;
        }
        this.#inFlight.add(held);
        held.sent = sent;
        broker.publish(publication, (reasonCode) => this.#answered(held, reasonCode));
        held.redelivery = true;
        durations.add(published - held.of.batch.claimed);
        onPublished?.(publication.payload, published);
        if (qos === 0) {
          bytes += held.frame.length;
          written.push(held);
        }
      }
    };
    const whenWritten = (failed: boolean) => {
      this.#unwritten -= bytes;
      // After a failure `broken` follows.
      if (!failed) for (const held of written) this.#answered(held, 0);
    };
    broker.together(publish, qos === 0 ? whenWritten : undefined);
    this.#unwritten += bytes;
  }

  #answered(held: Held, reasonCode: number): void {
    if (!this.#release(held)) return;
    if (reasonCode < FIRST_FAILURE) this.#options.onDelivered(held);
    else this.#options.onRefused(held, reasonName(reasonCode), !PASSING.has(reasonCode));
    this.#flushSoon();
  }

  #release(held: Held): boolean {
    held.sent = 0;
    if (held === this.#alone) this.#alone = undefined;
    return this.#inFlight.delete(held);
  }

  /** Flushes once for all PUBACKs of this turn. */
  #flushSoon(): void {
    const idle = this.#suspects.length === 0 && this.#next === this.#waiting.length;
    if (this.#flushing || idle) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  #checkDeadline(): void {
    const { qos, timeoutMs, broker } = this.#options;
    const [oldest] = this.#inFlight;
    if (qos === 0 || oldest === undefined || !broker.up) return;
    if (oldest.sent < performance.now() - timeoutMs) broker.break(`no PUBACK for ${timeoutMs} ms`);
  }
}

/** @param published the time now, µs of the reference clock */
function publicationOf(held: Held, qos: 0 | 1, published: number): Publication {
  const { frame, targetEnd, stampsEnd, traceEnd, queued } = held;
  return {
    topic: TOPIC_PREFIX + frame.toString('utf8', 0, targetEnd),
    payload: frame.subarray(traceEnd + 1),
    qos,
    dup: qos === 1 && held.redelivery,
    hops: Number.isNaN(queued)
      ? undefined
      : frame.toString('latin1', targetEnd + 1, stampsEnd) +
        formatDeltas(queued, held.of.batch.claimed, published),
    trace: traceEnd === stampsEnd ? '' : frame.toString('latin1', stampsEnd + 1, traceEnd),
  };
}

/** Why a message cannot be published; undefined: it can. */
function problemOf({ topic, payload, qos, hops, trace }: Publication, largest: number): string | undefined {
  const topicBytes = Buffer.byteLength(topic);
  if (topicBytes > LONGEST_TOPIC)
    return `a topic of ${topicBytes} bytes, and MQTT has ${LONGEST_TOPIC} at most`;
  // A user property has an identifier, a name and a value (MQTT 5, 3.3.2).
  let properties = hops === undefined ? 0 : 1 + 2 + 'hops'.length + 2 + hops.length;
  if (trace !== '') {
    for (const [name, value] of Object.entries(splitTrace(trace))) {
      properties += 1 + 2 + name.length + 2 + value.length;
    }
  }
  // Topic, packet id, and the properties behind their length.
  const header = 2 + topicBytes + 2 * qos + (properties < 128 ? 1 : 2) + properties;
  const remaining = header + payload.length;
  // The remaining length is written in bytes of 7 bits (1.5.5).
  const size = 1 + Math.ceil(Math.log2(remaining + 1) / 7) + remaining;
  return size > largest ? `a packet of ${size} bytes, and the broker takes ${largest} at most` : undefined;
}
