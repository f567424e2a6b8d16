import { OWN_PACKET_IDS } from './acks.ts';
import { type Broker, FIRST_FAILURE, PASSING, reasonName } from './broker.ts';
import type { Held } from './held.ts';
import { encodePublish, packetBound } from './packet.ts';

export interface PublisherOptions {
  broker: Pick<Broker, 'up' | 'reason' | 'receiveMaximum' | 'maximumPacketSize' | 'write' | 'break'>;
  qos: 0 | 1;
  /** Messages in flight at most: published and not acknowledged. The broker may allow fewer. */
  window: number;
  /** No PUBACK for this long (ms): the connection is dead. */
  timeoutMs: number;
  /** The reference clock, µs. */
  now: () => number;
  /** A packet was encoded: the body in it, and when, µs of the reference clock. */
  onPublished?: ((body: Buffer, at: number) => void) | undefined;
  /** The broker has the message (QoS 1), or the socket had it (QoS 0). */
  onDelivered: (held: Held) => void;
  /** The broker said no. `lasting`: because of the message, and it will again. */
  onRefused: (held: Held, reason: string, lasting: boolean) => void;
  /**
   * A message that may be what breaks connections is about to be published alone. Resolves with whether it is to
   * be; when not, it is out of the publisher's hands.
   */
  onSuspect: (held: Held, reason: string) => Promise<boolean>;
}

/** Bytes that are encoded together, and at QoS 0 those that may wait in the socket before the next burst. */
const BURST_BYTES = 65_536;

/**
 * Publishes what it is given, in order, with a bounded number in flight. What was in flight when the connection
 * broke is suspect: one of these messages may be why. They are published again alone, one at a time, before
 * anything else, so that such a message takes no other along.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  /** In flight at QoS 1, by packet id. */
  readonly #slots: (Held | undefined)[];
  #packetId = 0;
  /** Given and not published, from `#next` on. */
  #waiting: Held[] = [];
  #next = 0;
  #suspects: Held[] = [];
  /** QoS 0: how many of them, the first ones, were in writes that failed since nothing was in flight. */
  #failed = 0;
  /** The suspect that is being published, or about to be. */
  #alone: Held | undefined;
  #inFlight = 0;
  /** QoS 0: bytes that the kernel has not taken. */
  #unwritten = 0;
  #order = 0;
  #flushing = false;
  readonly #deadline: NodeJS.Timeout;

  constructor(options: PublisherOptions) {
    this.#options = options;
    // Twice as many ids as are in use at once: the next one is nearly always free.
    this.#slots = new Array(Math.min(2 * options.window, OWN_PACKET_IDS) + 1).fill(undefined);
    this.#deadline = setInterval(() => this.#checkDeadline(), options.timeoutMs / 4).unref();
  }

  /** Messages published and not acknowledged. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many more messages are wanted. */
  get room(): number {
    const waiting = this.#waiting.length - this.#next + this.#suspects.length;
    return this.#limit - this.#inFlight - waiting - (this.#alone === undefined ? 0 : 1);
  }

  /** Something waits for PUBACKs. */
  get needsAcks(): boolean {
    return this.#alone !== undefined || this.#suspects.length > 0 || this.#next < this.#waiting.length;
  }

  /** {@link flush} publishes it. */
  add(held: Held): void {
    if (held.suspect) this.#suspects.push(held);
    else this.#waiting.push(held);
  }

  /** Publishes what may be published now. */
  flush(): void {
    if (!this.#options.broker.up || this.#alone !== undefined) return;
    if (this.#suspects.length > 0) {
      if (this.#inFlight === 0) void this.#publishAlone();
      return;
    }
    while (this.#next < this.#waiting.length && this.#mayPublish()) this.#burst();
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
  }

  /** A PUBACK came. One that answers nothing was for a connection that broke. */
  acknowledge(packetId: number, reasonCode: number): void {
    const held = this.#slots[packetId];
    if (held === undefined) return;
    this.#release(held);
    if (held === this.#alone) this.#alone = undefined;
    if (reasonCode < FIRST_FAILURE) this.#options.onDelivered(held);
    else this.#options.onRefused(held, reasonName(reasonCode), !PASSING.has(reasonCode));
    this.#flushSoon();
  }

  /** The connection broke. At QoS 0 that is nothing: each write says whether the socket had it. */
  broken(): void {
    const lost = this.#slots.filter((held) => held !== undefined).sort((a, b) => a.order - b.order);
    for (const held of lost) {
      this.#release(held);
      held.suspect = true;
      if (held === this.#alone) this.#alone = undefined;
    }
    this.#suspects = lost.concat(this.#suspects);
  }

  /** Messages of entries that are gone are not published. */
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

  #mayPublish(): boolean {
    return this.#inFlight < this.#limit && this.#unwritten < BURST_BYTES;
  }

  async #publishAlone(): Promise<void> {
    const held = this.#suspects.shift() as Held;
    const { broker, onSuspect } = this.#options;
    this.#alone = held;
    const go = (await onSuspect(held, broker.reason)) && !held.of.gone;
    if (go && broker.up) {
      this.#write([held], packetBound(held));
      // A packet that is too large was not written.
      if (this.#inFlight > 0) return;
    } else if (go) {
      this.#suspects.unshift(held);
    }
    this.#alone = undefined;
    this.#flushSoon();
  }

  /** As many of those that wait as fit into one write. */
  #burst(): void {
    const burst: Held[] = [];
    let bytes = 0;
    const most = this.#limit - this.#inFlight;
    while (burst.length < most && this.#next < this.#waiting.length) {
      const held = this.#waiting[this.#next] as Held;
      const bound = packetBound(held);
      if (burst.length > 0 && bytes + bound > BURST_BYTES) break;
      burst.push(held);
      bytes += bound;
      this.#next++;
    }
    this.#write(burst, bytes);
  }

  #write(burst: readonly Held[], bound: number): void {
    const { broker, qos, now, onPublished } = this.#options;
    const packets = Buffer.allocUnsafe(bound);
    const largest = broker.maximumPacketSize;
    const sent = performance.now();
    const written: Held[] = [];
    let end = 0;
    for (const held of burst) {
      if (qos === 1) this.#occupy(held, sent);
      const published = now();
      let next = end;
      let reason = '';
      try {
        next = encodePublish(packets, end, held, qos, published);
        if (next - end > largest)
          reason = `a packet of ${next - end} bytes, and the broker takes ${largest} at most`;
      } catch (error) {
        reason = (error as Error).message;
      }
      if (reason !== '') {
        if (qos === 1) this.#release(held);
        this.#options.onRefused(held, reason, true);
        continue;
      }
      onPublished?.(held.frame.subarray(held.stampsEnd + 1), published);
      end = next;
      held.redelivery = true;
      if (qos === 0) written.push(held);
    }
    if (end === 0) return;
    if (qos === 1) {
      broker.write(packets.subarray(0, end));
      return;
    }
    this.#inFlight += written.length;
    this.#unwritten += end;
    broker.write(packets.subarray(0, end), (error) => {
      this.#inFlight -= written.length;
      this.#unwritten -= end;
      this.#alone = undefined;
      if (error) this.#again(written);
      else for (const held of written) this.#options.onDelivered(held);
      this.#flushSoon();
    });
  }

  /** QoS 0: a write failed. Those of one connection fail one after the other, the oldest first. */
  #again(written: readonly Held[]): void {
    const lost = written.filter(({ of }) => !of.gone);
    for (const held of lost) held.suspect = true;
    this.#suspects.splice(this.#failed, 0, ...lost);
    this.#failed = this.#inFlight === 0 ? 0 : this.#failed + lost.length;
  }

  #occupy(held: Held, sent: number): void {
    do {
      this.#packetId = this.#packetId + 1 < this.#slots.length ? this.#packetId + 1 : 1;
    } while (this.#slots[this.#packetId] !== undefined);
    this.#slots[this.#packetId] = held;
    this.#inFlight++;
    held.packetId = this.#packetId;
    held.order = this.#order++;
    held.sent = sent;
  }

  #release(held: Held): void {
    this.#slots[held.packetId] = undefined;
    this.#inFlight--;
    held.packetId = 0;
  }

  /** Once for all PUBACKs of this turn. */
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
    if (this.#inFlight === 0 || !this.#options.broker.up) return;
    const { timeoutMs, broker } = this.#options;
    const latest = performance.now() - timeoutMs;
    const late = this.#slots.some((held) => held !== undefined && held.sent < latest);
    if (late) broker.break(`no PUBACK for ${timeoutMs} ms`);
  }
}
