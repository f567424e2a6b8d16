/** The plugin's changes to a request of Artillery. */
import type { IncomingMessage } from 'node:http';
import type { Alarm } from './alarm.ts';

/** Statuses that got follows. */
const REDIRECTS = [300, 301, 302, 303, 304, 307, 308];
interface CookieJar {
  getCookieString(url: string): Promise<string>;
  setCookie(cookie: string, url: string): Promise<unknown>;
}
export interface RequestParams {
  uuid: string;
  cookieJar?: CookieJar | undefined;
  name?: string;
  url?: string;
  method?: string;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string;
  followRedirect?: boolean;
  /** The plugin decodes the answer. */
  decodes?: boolean;
}
/**
 * A cookie jar that waits until the request is due: cookies are the last thing that Artillery's client asks for before it sends.
 */
export function waitingJar(alarm: Alarm, due: number, jar: CookieJar | undefined): CookieJar {
  return {
    getCookieString: async (url) => {
      await alarm.at(due);
      return (await jar?.getCookieString(url)) ?? '';
    },
    setCookie: async (cookie, url) => jar?.setCookie(cookie, url),
  };
}

/** A body whose messages also have the script's payload and fields. */
export function withFields(body: string, given: object): object {
  const add = ({ payload, ...fixed }: { payload: unknown }) => ({ payload, ...given, ...fixed });
  const messages = JSON.parse(body);
  return Array.isArray(messages) ? messages.map(add) : add(messages);
}

/**
 * Whether Artillery sends the request again, to the place that an answer names. Without one it would wait for ever for
 * another answer, so this makes the answer its last.
 */
export function isFollowed({ statusCode = 0, headers }: IncomingMessage, params: RequestParams): boolean {
  const redirects = REDIRECTS.includes(statusCode) && headers.location !== undefined;
  if (!redirects) params.followRedirect = false;
  return redirects && params.followRedirect !== false;
}

/** Names of header fields in lower case, as Artillery and the plugin write them. */
export function lowered(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
