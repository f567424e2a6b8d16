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

/** Reads what {@link formatStamps} wrote. Throws a `RangeError` that quotes the text. */
export function parseStamps(text: string): Pick<Hops, 'received' | 'queued'> {
  const [received, queued] = accumulate(text, 2) as [number, number];
  return { received, queued };
}

/**
 * `<received>,<d1>,<d2>,<d3>`: the first stamp, then each stage's length from the stamp before.
 * A delta below zero is legal: two hosts' clocks differ.
 */
export function formatHops({ received, queued, claimed, published }: Hops): string {
  return `${received},${queued - received},${claimed - queued},${published - claimed}`;
}

/** Reads what {@link formatHops} wrote. Throws a `RangeError` that quotes the text. */
export function parseHops(text: string): Hops {
  const [received, queued, claimed, published] = accumulate(text, 4) as [number, number, number, number];
  return { received, queued, claimed, published };
}

const STAMP = /^\d{1,16}$/;
const DELTA = /^-?\d{1,15}$/;

function accumulate(text: string, count: number): number[] {
  const parts = text.split(',');
  const wellFormed = parts.length === count && parts.every((part, i) => (i === 0 ? STAMP : DELTA).test(part));
  if (!wellFormed) {
    throw new RangeError(`"${text}" is not ${count} comma-separated integers of microseconds`);
  }
  let at = 0;
  return parts.map((part) => {
    at += Number(part);
    return at;
  });
}
