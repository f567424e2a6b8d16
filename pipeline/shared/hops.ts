/**
 * The stamps of a message, in microseconds of the Redis clock: `<received>,<d1>,<d2>,<d3>`. `received` is when the ingest saw the
 * request. Then, each as the difference from the one before: just before the write to Redis, when a relay claimed the entry, when the
 * PUBLISH packet was encoded. A difference may be below zero, as two hosts' clocks differ.
 * The first two travel in the stream entry, all in the MQTT 5 user property `hops`.
 */

/** `<received>,<queued − received>`: what the ingest writes into the stream entry. */
export function formatStamps(received: number, queued: number): string {
  return `${received},${queued - received}`;
}

/**
 * The second stamp that {@link formatStamps} wrote to `bytes[from, to)`, in µs. A relay needs only this one: it copies the
 * bytes and appends {@link formatDeltas}. Throws a `RangeError` that quotes the text.
 */
export function readQueued(bytes: Buffer, from: number, to: number): number {
  const comma = digits(bytes, from, to, STAMP_DIGITS);
  const negative = bytes[comma + 1] === MINUS;
  const delta = negative ? comma + 2 : comma + 1;
  const end = digits(bytes, delta, to, DELTA_DIGITS);
  if (comma === from || bytes[comma] !== COMMA || end === delta || end !== to) {
    const text = bytes.toString('utf8', from, to);
    throw new RangeError(`"${text}" is not 2 comma-separated integers of microseconds`);
  }
  const length = value(bytes, delta, end);
  return value(bytes, from, comma) + (negative ? -length : length);
}

/** `,<d2>,<d3>`, which follow the stamps in `hops`. */
export function formatDeltas(queued: number, claimed: number, published: number): string {
  return `,${claimed - queued},${published - claimed}`;
}

const [COMMA, MINUS, ZERO, NINE] = [44, 45, 48, 57];
const STAMP_DIGITS = 16;
const DELTA_DIGITS = 15;

/** The end of the digits that begin at `from`, at most `most` of them and not beyond `to`. */
function digits(bytes: Buffer, from: number, to: number, most: number): number {
  let at = from;
  while (at < to && at - from < most) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) break;
    at++;
  }
  return at;
}

function value(bytes: Buffer, from: number, to: number): number {
  let n = 0;
  for (let at = from; at < to; at++) n = n * 10 + (bytes[at] as number) - ZERO;
  return n;
}
