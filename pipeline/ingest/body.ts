import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { malformed, Refusal } from './refusal.ts';

/** A body that nobody wants is read for this long (ms) after the answer, so that the client gets to read it. */
const LINGER_MS = 1000;
/** Up to this size what is left of it is read and the connection kept. */
const DISCARDED = 65_536;

export type BodyDone = (error: Error | null, text?: string) => void;

/** The length that a request announces; undefined: it does not, and may have a body all the same. */
export function announcedLength(request: IncomingMessage): number | undefined {
  const length = request.headers['content-length'];
  if (length !== undefined) return Number(length);
  return request.headers['transfer-encoding'] === undefined ? 0 : undefined;
}

/**
 * Reads a body as text.
 * @param more is asked before bytes are kept that the request did not announce.
 */
export function readBody(
  request: IncomingMessage,
  more: ((bytes: number) => Refusal | undefined) | undefined,
  done: BodyDone,
): void {
  let first: Buffer | undefined;
  let chunks: Buffer[] | undefined;
  const onData = (chunk: Buffer) => {
    const refusal = more?.(chunk.length);
    if (refusal !== undefined) {
      stop();
      done(refusal);
    } else if (first === undefined) first = chunk;
    else if (chunks === undefined) chunks = [first, chunk];
    else chunks.push(chunk);
  };
  const onEnd = () => {
    stop();
    const bytes = chunks === undefined ? first : Buffer.concat(chunks);
    if (bytes === undefined) return done(malformed('', 'is empty'));
    // RFC 8259, 8.1: JSON is UTF-8. Decoding would repair what is not, silently.
    if (!isUtf8(bytes)) return done(malformed('', 'is not JSON: the bytes are not UTF-8'));
    done(null, bytes.toString());
  };
  const onError = () => {
    stop();
    done(new Refusal(400, 'the request was broken off'));
  };
  const stop = () => {
    request.off('data', onData);
    request.off('end', onEnd);
    request.off('error', onError);
  };
  request.on('data', onData);
  request.on('end', onEnd);
  request.on('error', onError);
}

/** Whether so much of the body is still to come that the connection is better given up. */
export function isMuchUnread(request: IncomingMessage): boolean {
  return !request.complete && (announcedLength(request) ?? Number.POSITIVE_INFINITY) > DISCARDED;
}

/**
 * Answers a request whose body is not read to its end, and closes the connection. Closing at once would reset it
 * while the client still sends, and then the client may never see the answer.
 */
export function sendUnread(response: ServerResponse, status: number, headers: object, text: string): void {
  const request = response.req;
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(text) });
  response.write(text);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, LINGER_MS);
  request.on('error', () => {});
  request.once('close', end);
  request.once('end', end);
  request.resume();
}
