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
 * Reads a body as text; `done` is called once.
 * @param more is asked before bytes are kept that the request did not announce.
 */
export function readBody(
  request: IncomingMessage,
  more: ((bytes: number) => Refusal | undefined) | undefined,
  done: BodyDone,
): void {
  let first: Buffer | undefined;
  let chunks: Buffer[] | undefined;
  let over = false;
  const end = (refusal: Refusal | null, text?: string) => {
    if (over) return;
    over = true;
    done(refusal, text);
  };
  request.on('data', (chunk: Buffer) => {
    if (over) return;
    const refusal = more?.(chunk.length);
    if (refusal !== undefined) end(refusal);
    else if (first === undefined) first = chunk;
    else if (chunks === undefined) chunks = [first, chunk];
    else chunks.push(chunk);
  });
  request.on('end', () => {
    const bytes = chunks === undefined ? first : Buffer.concat(chunks);
    if (bytes === undefined) end(malformed('', 'is empty'));
    // RFC 8259, 8.1: JSON is UTF-8. Decoding would repair what is not, silently.
    else if (!isUtf8(bytes)) end(malformed('', 'is not JSON: the bytes are not UTF-8'));
    else end(null, bytes.toString());
  });
  request.on('error', () => end(new Refusal(400, 'the request was broken off')));
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
  request.once('close', end);
  request.once('end', end);
  request.resume();
}
