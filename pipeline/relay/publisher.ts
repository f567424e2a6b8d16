import { type Remarks, reasonName } from '../common/broker-attempt.ts';
import type { Durations } from '../common/metrics.ts';
import type { Spans } from '../common/spans.ts';
import { idIn, type TraceList } from '../queue/trace-list.ts';
import { formatDeltas } from '../shared/hops.ts';
import type { Broker } from './broker.ts';
import type { HeldMessage } from './holdings.ts';
import { type Publication, packetSizeOf, type Size, SizeLimit } from './publication.ts';
import { FIRST_FAILURE } from './reason-codes.ts';

/**
 * How long a refusal lasts. passing: until the broker's state changes; the attempt does not count. lasting: perhaps for good, so
 * the message has further attempts. final: for good, as the message is too large.
 */
export type RefusalKind = 'passing' | 'lasting' | 'final';

export interface PublisherOptions {
  broker: Pick<
    Broker,
    'up' | 'reason' | 'endedBy' | 'receiveMaximum' | 'maximumPacketSize' | 'publish' | 'together' | 'break'
  >;
  qos: 0 | 1;
  /** The most messages in flight; the broker may allow fewer. */
  window: number;
  /** ms without a PUBACK until the connection counts as dead. */
  timeoutMs: number;
  /** The reference clock, µs. */
  now: () => number;
  /** Collects the times from the claim of a message until it was handed to the broker. */
  durations: Pick<Durations, 'add'>;
  /** Takes spans of messages; undefined: there are none. */
  spans?: Pick<Spans, 'now' | 'message'> | undefined;
  /** The trace lists, which get the times of some messages; undefined: there are none. */
  trace?: Pick<TraceList, 'noteBody'> | undefined;
  /** The key of a message's id in its body. */
  idKey?: string;
  listener: PublishListener;
}

/** PublishListener hears what becomes of each message that is published. */
export interface PublishListener {
  /** The broker (QoS 1) or the kernel (QoS 0) has the message. */
  onDelivered(held: HeldMessage): void;
  /** The broker refuses the message. */
  onRefused(held: HeldMessage, reason: string, kind: RefusalKind): void;
  /**
   * A message that may break connections is about to be published alone. Resolves with whether to publish it; if not, the
   * publisher forgets it.
   */
  onSuspect(held: HeldMessage, reason: string): Promise<boolean>;
}

/** PUBACK codes of a broker's state: packet identifier in use; server unavailable, busy or shutting down; rate, quota. */
const PASSING: ReadonlySet<number> = new Set([0x88, 0x89, 0x8b, 0x91, 0x96, 0x97]);
/**
 * DISCONNECT codes that no message causes: server busy, server shutting down, keep alive timeout, session taken over, message rate too
 * high, quota exceeded, use another server, server moved, connection rate exceeded, maximum connect time (MQTT 5, 3.14.2.1).
 */
const BLAMELESS: ReadonlySet<unknown> = new Set([0x89, 0x8b, 0x8d, 0x8e, 0x96, 0x97, 0x9c, 0x9d, 0x9f, 0xa0]);
const TOO_LARGE = 0x95;
/** A topic is TOPIC_PREFIX and the target. */
const TOPIC_PREFIX = 'messages/';
/** Bytes of a topic (MQTT 5, 1.5.4). */
const LONGEST_TOPIC = 65_535;
/** QoS 0: the most bytes that may wait in the socket. */
const UNWRITTEN_BYTES = 65_536;

/**
 * Publishes messages in order, with a bounded number in flight. Messages in flight when the connection broke are suspect, as
 * one of them may be the cause. It publishes them again first, one at a time, so that such a message takes no other along.
 * If the broker's reason for ending the connection blames no message, or one that is too large, none is suspect.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  /** The oldest first. */
  readonly #inFlight = new Map<HeldMessage, Size>();
  /** Messages to publish, from `#next` on. */
  #waiting: HeldMessage[] = [];
  #next = 0;
  #suspects: HeldMessage[] = [];
  /** The suspect that is being published. */
  #alone: HeldMessage | undefined;
  /** QoS 0: bytes in the socket. */
  #unwritten = 0;
  #flushing = false;
  readonly #limit = new SizeLimit();
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
    return this.#most - this.#inFlight.size - waiting - about;
  }

  /** Adds a message for {@link flush}. */
  add(held: HeldMessage): void {
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
    let room = this.#most - this.#inFlight.size;
    let bytes = this.#unwritten;
    const burst: HeldMessage[] = [];
    while (room-- > 0 && bytes < UNWRITTEN_BYTES && this.#next < this.#waiting.length) {
      const held = this.#waiting[this.#next++] as HeldMessage;
      if (this.#options.qos === 0) bytes += held.frame.length;
      burst.push(held);
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    if (burst.length > 0) this.#publish(burst);
  }

  /** Handles a broken connection: messages in flight become suspects, unless something else broke it. */
  broken(): void {
    const sizes = [...this.#inFlight.values()];
    const all = [...this.#inFlight.keys()];
    for (const held of all) {
      this.#release(held);
      held.spans?.end('the connection broke');
    }
    const lost = all.filter(({ of }) => !of.gone);
    const { endedBy } = this.#options.broker;
    const isExplained = endedBy === TOO_LARGE ? this.#limit.explains(sizes) : BLAMELESS.has(endedBy);
    this.#limit.reconnected();
    if (isExplained) {
      this.#waiting = lost.concat(this.#waiting.slice(this.#next));
      this.#next = 0;
      return;
    }
    for (const held of lost) held.suspect = true;
    this.#suspects = lost.concat(this.#suspects);
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

  /** The most messages in flight. */
  get #most(): number {
    const { qos, window, broker } = this.#options;
    return qos === 0 ? window : Math.min(window, broker.receiveMaximum);
  }

  async #publishAlone(): Promise<void> {
    const held = this.#suspects.shift() as HeldMessage;
    const { broker, listener } = this.#options;
    this.#alone = held;
    const go = (await listener.onSuspect(held, broker.reason)) && !held.of.gone;
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

  #publish(burst: readonly HeldMessage[]): void {
    const { broker, qos, now, durations, trace, listener } = this.#options;
    const sent = performance.now();
    const written: HeldMessage[] = [];
    let bytes = 0;
    let refused = false;
    const publish = () => {
      for (const held of burst) {
        const published = now();
        const publication = publicationOf(held, qos, published);
        const size = packetSizeOf(publication);
        const problem = problemOf(publication) ?? this.#limit.problemOf(size, broker.maximumPacketSize);
        if (problem !== undefined) {
          refused = true;
          listener.onRefused(held, problem, 'final');
          continue;
        }
        this.#trace(held, publication, published - held.of.batch.claimed);
        this.#inFlight.set(held, size);
        held.sent = sent;
        broker.publish(publication, (reasonCode, remarks) => this.#answered(held, reasonCode, size, remarks));
        held.redelivery = true;
        durations.add(published - held.of.batch.claimed);
        trace?.noteBody(publication.payload, published);
        if (qos === 0) {
          this.#limit.publishedUnanswered(size);
          bytes += held.frame.length;
          written.push(held);
        }
      }
    };
    const whenWritten = (failed: boolean) => {
      this.#unwritten -= bytes;
      // A failure is followed by `broken`, which handles these messages.
      if (!failed) for (const held of written) this.#answered(held, 0);
    };
    broker.together(publish, qos === 0 ? whenWritten : undefined);
    this.#unwritten += bytes;
    // No answer will say that there is room for the next one.
    if (refused) this.#flushSoon();
  }

  /** Begins the spans of a message, which was claimed `waited` µs before. */
  #trace(held: HeldMessage, publication: Publication, waited: number): void {
    const { spans, idKey = 'id' } = this.#options;
    const { trace, topic, payload } = publication;
    if (spans === undefined || trace === '') return;
    held.spans = spans.message(trace, spans.now() - waited / 1000, topic, idIn(payload, idKey));
    publication.trace = held.spans?.trace ?? trace;
  }

  #answered(held: HeldMessage, reasonCode: number, size?: Size, remarks?: Remarks): void {
    if (!this.#release(held)) return;
    held.spans?.end(reasonCode < FIRST_FAILURE ? undefined : reasonName(reasonCode, remarks));
    if (reasonCode < FIRST_FAILURE) this.#options.listener.onDelivered(held);
    else {
      if (reasonCode === TOO_LARGE && size !== undefined) this.#limit.refused(size);
      const kind = reasonCode === TOO_LARGE ? 'final' : PASSING.has(reasonCode) ? 'passing' : 'lasting';
      this.#options.listener.onRefused(held, reasonName(reasonCode, remarks), kind);
    }
    this.#flushSoon();
  }

  #release(held: HeldMessage): boolean {
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
    const [oldest] = this.#inFlight.keys();
    if (qos === 0 || oldest === undefined || !broker.up) return;
    if (oldest.sent < performance.now() - timeoutMs) broker.break(`no PUBACK for ${timeoutMs} ms`);
  }
}

/** @param published the time now, µs of the reference clock */
function publicationOf(held: HeldMessage, qos: 0 | 1, published: number): Publication {
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

/** Why MQTT has no such message; undefined: it has. */
function problemOf({ topic }: Publication): string | undefined {
  const bytes = Buffer.byteLength(topic);
  return bytes > LONGEST_TOPIC
    ? `a topic of ${bytes} bytes, and MQTT has ${LONGEST_TOPIC} at most`
    : undefined;
}
