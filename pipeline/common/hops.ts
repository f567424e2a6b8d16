/**
 * A message's stamps on its way through the pipeline, in microseconds of the Redis clock.
 * They travel beside the payload: `stamps` in the stream entry, `hops` as an MQTT 5 user property.
 */
export interface Hops {
  /** The ingest saw the request. */
  received: number;
  /** Just before the write to Redis left the ingest. */
  queued: number;
  /** A relay took the entry from the stream. */
  claimed: number;
  /** The PUBLISH packet was encoded. */
  published: number;
}

/** `<received>,<queued − received>`: what the ingest writes into the stream entry. */
export function formatStamps(received: number, queued: number): string {
  return `${received},${queued - received}`;
}

/**
 * Reads `<received>,<d1>,<d2>,<d3>`: the first stamp, then each stage's length from the stamp before, which {@link formatStamps} and
 * {@link formatDeltas} wrote. A delta below zero is legal: two hosts' clocks differ. Throws a `RangeError` that quotes the text.
 */
export function parseHops(text: string): Hops {
  const parts = text.split(',');
  const wellFormed = parts.length === 4 && parts.every((part, i) => (i === 0 ? STAMP : DELTA).test(part));
  if (!wellFormed) throw new RangeError(malformed(text, 4));
  let at = 0;
  const [received, queued, claimed, published] = parts.map((part) => {
    at += Number(part);
    return at;
  }) as [number, number, number, number];
  return { received, queued, claimed, published };
}

/**
 * The second stamp that {@link formatStamps} wrote to `bytes[from, to)`, in µs. A relay reads no more of them: it
 * hands them on as they are and appends {@link formatDeltas}. Throws a `RangeError` that quotes the text.
 */
export function readQueued(bytes: Buffer, from: number, to: number): number {
  const comma = digits(bytes, from, to, STAMP_DIGITS);
  const negative = bytes[comma + 1] === MINUS;
  const delta = negative ? comma + 2 : comma + 1;
  const end = digits(bytes, delta, to, DELTA_DIGITS);
  if (comma === from || bytes[comma] !== COMMA || end === delta || end !== to) {
    throw new RangeError(malformed(bytes.toString('utf8', from, to), 2));
  }
  const length = value(bytes, delta, end);
  return value(bytes, from, comma) + (negative ? -length : length);
}

/** `,<d2>,<d3>`: appended to the stamps it makes them hops. */
export function formatDeltas(queued: number, claimed: number, published: number): string {
  return `,${claimed - queued},${published - claimed}`;
}

const [COMMA, MINUS, ZERO, NINE] = [44, 45, 48, 57];
const STAMP_DIGITS = 16;
const DELTA_DIGITS = 15;

/** Where the digits end that begin at `from`: at `to`, after `most` of them, or before what is none. */
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

function malformed(text: string, count: number): string {
  return `"${text}" is not ${count} comma-separated integers of microseconds`;
}

const STAMP = /^\d{1,16}$/;
const DELTA = /^-?\d{1,15}$/;
