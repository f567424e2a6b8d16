import type { ServerResponse } from 'node:http';
import { isMuchUnread, sendUnread } from './body.ts';
import { Refusal } from './refusal.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Name, value, name, value: Node writes such a list as it is. */
const headersOf = (text: string) => ['content-type', JSON_TYPE, 'content-length', `${text.length}`];
const ONE = '{"accepted":1}';
const ONE_HEADERS = headersOf(ONE);

/** 202: Redis has them. */
export function accepted(response: ServerResponse, messages: number): void {
  const text = messages === 1 ? ONE : `{"accepted":${messages}}`;
  response.writeHead(202, messages === 1 ? ONE_HEADERS : headersOf(text));
  response.end(text);
}

/** Any other answer, `{"error", "field"?}`. What went wrong with us is not told to strangers. */
export function refused(response: ServerResponse, status: number, error: Error): void {
  const { field, retryAfterS } = error instanceof Refusal ? error : {};
  const headers: Record<string, string | number> = { 'content-type': JSON_TYPE };
  // RFC 6750, 3.
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (retryAfterS !== undefined) headers['retry-after'] = retryAfterS;
  const told = status < 500 || status === 503 ? error.message : 'internal error';
  const text = JSON.stringify({ error: told, field });
  if (isMuchUnread(response.req)) {
    sendUnread(response, status, headers, text);
    return;
  }
  headers['content-length'] = Buffer.byteLength(text);
  response.writeHead(status, headers);
  response.end(text);
}
