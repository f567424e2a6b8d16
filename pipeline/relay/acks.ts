import type { OnReadOpts, Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Packet ids up to here are the relay's own, and so the most that can be in flight; mqtt.js has those above. */
export const OWN_PACKET_IDS = 65_000;

const PUBACK = 0x40;
/** A PUBACK with a reason string as long as it may be (MQTT 5, 3.4.2.2), in what is kept of an unfinished one. */
const LONGEST_REST = 70_000;

/** Takes the PUBACKs of the relay's own packets out of what a broker sends; the rest is somebody else's. */
export class AckReader {
  readonly #onAck: (packetId: number, reasonCode: number) => void;
  readonly #pass: (bytes: Buffer) => void;
  /** The beginning of a packet that has not come as a whole. */
  #rest: Buffer | undefined;
  /** How many bytes are still to be passed on. */
  #through = 0;

  constructor(onAck: (packetId: number, reasonCode: number) => void, pass: (bytes: Buffer) => void) {
    this.#onAck = onAck;
    this.#pass = pass;
  }

  read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = undefined;
    let at = 0;
    /** Where the bytes begin that are to be passed on, up to `at`. */
    let kept = 0;
    while (at < bytes.length) {
      if (this.#through > 0) {
        const step = Math.min(this.#through, bytes.length - at);
        this.#through -= step;
        at += step;
        continue;
      }
      // The remaining length has up to four bytes, the last one without its highest bit (MQTT 5, 1.5.5).
      let head = at + 1;
      let length = 0;
      for (let shift = 0; shift <= 21; shift += 7) {
        const byte = bytes[head++] as number;
        length |= (byte & 127) << shift;
        if (byte < 128 || head > bytes.length) break;
      }
      const whole = head + length <= bytes.length;
      if (head > bytes.length || (bytes[at] === PUBACK && !whole && length < LONGEST_REST)) {
        this.#rest = bytes.subarray(at);
        break;
      }
      const packetId = bytes[at] === PUBACK && whole ? bytes.readUInt16BE(head) : 0;
      if (packetId === 0 || packetId > OWN_PACKET_IDS) {
        this.#through = head + length - at;
        continue;
      }
      if (at > kept) this.#pass(bytes.subarray(kept, at));
      // Without a reason code it is 0, success (3.4.2.1).
      this.#onAck(packetId, length > 2 ? (bytes[head + 2] as number) : 0);
      at = head + length;
      kept = at;
    }
    if (at > kept) this.#pass(bytes.subarray(kept, at));
  }
}

export interface AckOptions {
  /** A PUBACK of one of the relay's own packets. */
  onAck: (packetId: number, reasonCode: number) => void;
  /** Something can not go on without PUBACKs: they are to be told as they come. */
  needsAcks: () => boolean;
}

/** Bytes of one read. */
const READ_BYTES = 65_536;
/**
 * Nothing is read for so long (ms) after PUBACKs that nothing waits for. A broker writes each by itself: read as they
 * come, each wakes the relay.
 */
const REST_MS = 1;

/**
 * A socket as mqtt.js sees it: without the PUBACKs of the relay's own packets. Its parser takes some
 * microseconds for each, and tells nobody of one with a reason code that it does not know, as 0x95 is.
 */
export class AckTap extends Duplex {
  readonly #socket: Socket;

  /** @param connect makes the socket. One that does not take `onread`, as those with TLS, is read without rest. */
  constructor(connect: (onread: OnReadOpts) => Socket, { onAck, needsAcks }: AckOptions) {
    super();
    let acks = 0;
    const count = (packetId: number, reasonCode: number) => {
      acks++;
      onAck(packetId, reasonCode);
    };
    const reader = new AckReader(count, (bytes) => this.push(bytes));
    const callback = (length: number, buffer: Uint8Array) => {
      acks = 0;
      // A copy: what is not read to its end is kept, and the buffer is used again.
      reader.read(Buffer.from(buffer.subarray(0, length)));
      if (acks === 0 || needsAcks()) return true;
      setTimeout(() => socket.resume(), REST_MS);
      return false;
    };
    const socket = connect({ buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => reader.read(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {}

  /** At once, so that nothing gets between the parts of a packet. What mqtt.js itself sends is small and rare. */
  override _write(bytes: Buffer, encoding: BufferEncoding, done: () => void): void {
    this.#socket.write(bytes, encoding);
    done();
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
