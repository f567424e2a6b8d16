import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';

/** ms to read an unwanted body after the answer, so that the client reads the answer. */
const LINGER_MS = 1000;
/** A rest of up to this size is read, and the connection stays. */
const DISCARDED = 65_536;

/** The announced length of a request; undefined: none, and it may still have a body. */
export function announcedLength(request: IncomingMessage): number | undefined {
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  return request.headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/** Whether the rest of the body is so long that the connection should be closed. */
export function isMuchUnread(request: IncomingMessage): boolean {
  return !request.complete && (announcedLength(request) ?? Number.POSITIVE_INFINITY) > DISCARDED;
}

/**
 * An answer that ends after the rest of the body was read, or after a while, and closes the connection. Closing at once would reset
 * it while the client still sends, and the client might never see the answer.
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
