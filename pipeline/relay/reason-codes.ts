const PUBACK = 0x40;
const DISCONNECT = 0xe0;
/** The lowest reason code of a failure (MQTT 5, 2.4). */
export const FIRST_FAILURE = 0x80;

/**
 * Reads reason codes of PUBACK and DISCONNECT before mqtt.js does. mqtt-packet takes a code that it does not list for a malformed
 * packet, like Mosquitto's 0x95 (Packet too large) in a PUBACK, and drops what came with it. Here each code of a failure is kept,
 * and written as 0x80 into the bytes, each other code as 0: mqtt-packet knows both.
 */
export class ReasonCodes {
  /** The code of a DISCONNECT; undefined: none has come. */
  disconnect: number | undefined;
  /** Codes of failures by the packet identifier of their PUBACK. */
  readonly #failures = new Map<number, number>();
  /** The first byte of the packet that is being read; 0: none, the next byte is one. */
  #type = 0;
  /** Its remaining length; NaN until all of its bytes are read. */
  #length = Number.NaN;
  /** The bits of the length so far, and the value of the next byte's lowest bit. */
  #bits = 0;
  #unit = 1;
  /** Bytes read behind the length. */
  #at = 0;
  #identifier = 0;

  /** Reads the next bytes of the connection, and replaces codes in them. */
  read(bytes: Buffer): void {
    let i = 0;
    while (i < bytes.length) {
      if (this.#type === 0) this.#type = bytes[i++] as number;
      else if (Number.isNaN(this.#length)) this.#readLength(bytes[i++] as number);
      else {
        const end = Math.min(bytes.length, i + this.#length - this.#at);
        // A PUBACK of two bytes has no code: success (MQTT 5, 3.4.2.1).
        const codeAt = this.#type === DISCONNECT ? 0 : this.#type === PUBACK && this.#length > 2 ? 2 : -1;
        for (let byte = i; byte < end && this.#at + byte - i <= codeAt; byte++) {
          const position = this.#at + byte - i;
          if (position < codeAt) this.#identifier = this.#identifier * 256 + (bytes[byte] as number);
          else bytes[byte] = this.#take(bytes[byte] as number);
        }
        this.#at += end - i;
        i = end;
        this.#endPacket();
      }
    }
  }

  /** The code of the PUBACK with this packet identifier, if it is a failure. */
  failureOf(identifier: number): number | undefined {
    const code = this.#failures.get(identifier);
    this.#failures.delete(identifier);
    return code;
  }

  #readLength(byte: number): void {
    this.#bits += (byte & 0x7f) * this.#unit;
    this.#unit *= 128;
    if (byte >= 0x80) return;
    this.#length = this.#bits;
    this.#endPacket();
  }

  #take(code: number): number {
    if (this.#type === DISCONNECT) this.disconnect = code;
    else if (code >= FIRST_FAILURE) this.#failures.set(this.#identifier, code);
    return code >= FIRST_FAILURE ? FIRST_FAILURE : 0;
  }

  #endPacket(): void {
    if (this.#at < this.#length) return;
    this.#type = 0;
    this.#length = Number.NaN;
    this.#bits = 0;
    this.#unit = 1;
    this.#at = 0;
    this.#identifier = 0;
  }
}
