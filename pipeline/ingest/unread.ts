import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

/** A body that nobody wants is read for this long (ms) after the answer, so that the client gets to read it. */
const LINGER_MS = 1000;
/** Up to this size what is left of it is read and the connection kept. */
const DISCARDED = 65_536;

/** The length that a request announces; undefined: it does not, and may have a body all the same. */
export function announcedLength(request: IncomingMessage): number | undefined {
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  return request.headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Whether so much of the body is still to come that the connection is better given up. */
export function isMuchUnread(request: IncomingMessage): boolean {
  return !request.complete && (announcedLength(request) ?? Number.POSITIVE_INFINITY) > DISCARDED;
}

/**
 * An answer that ends when the body has been thrown away, or late. The connection closes with it: closing at once would
 * reset it while the client still sends, and then the client may never see the answer.
 */
export function lingering(request: IncomingMessage, answer: string): Readable {
  async function* slowly() {
    yield answer;
    request.resume();
    const signal = AbortSignal.timeout(LINGER_MS);
    await finished(request, { writable: false, signal }).catch(() => {});
  }
  return Readable.from(slowly());
}
