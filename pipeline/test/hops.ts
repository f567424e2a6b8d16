/** The stamps of a message, µs of the Redis clock. */
export interface Hops {
  received: number;
  queued: number;
  claimed: number;
  published: number;
}

/** Parses `hops` as a subscriber does. */
export function hopsOf(text: string): Hops {
  let at = 0;
  const [received = 0, queued = 0, claimed = 0, published = 0] = text.split(',').map((part) => {
    at += Number(part);
    return at;
  });
  return { received, queued, claimed, published };
}
