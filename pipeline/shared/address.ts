/**
 * Reads the addresses of servers: `redis://user:password@host:port/0`, `mqtt://host`, `https://host/api`. Each part is used as it
 * is written, or refused: the URL parsers of clients ignore some parts, and take others for something else.
 *
 * The Go package `internal/address` is the same; both are tested against `reports/contract/address.vectors.json`.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** What a setting may be the address of: schemes, and the form for errors. */
export const KINDS = {
  redis: {
    schemes: ['redis', 'rediss'],
    like: 'redis://user:password@host:port/db; several host:port, between commas: a Redis Cluster',
  },
  /** Relays do not speak MQTT over WebSocket. */
  broker: { schemes: ['mqtt', 'mqtts', 'tcp', 'ssl', 'tls'], like: 'mqtt://user:password@host:port' },
  mqtt: {
    schemes: ['mqtt', 'mqtts', 'tcp', 'ssl', 'tls', 'ws', 'wss'],
    like: 'mqtt://user:password@host:port; with INGEST_URL also ws://host:port/path',
  },
  http: { schemes: ['http', 'https'], like: 'http://host:port' },
} satisfies Record<string, { schemes: string[]; like: string }>;

export type AddressKind = keyof typeof KINDS;

export interface Address {
  /** Lower-case. */
  scheme: string;
  /** Decoded; empty: none. */
  username: string;
  /** Decoded; empty: none. */
  password: string;
  /** One, or some of a Redis Cluster. */
  nodes: [Node, ...Node[]];
  /** The number of the database, with Redis. */
  database: number;
  /** Path and query of http, https, ws and wss, as they were written. */
  target: string;
}

/** Where a server listens. */
export interface Node {
  /** An IPv6 address has no brackets. */
  host: string;
  port: number;
}

const PORTS: Record<string, number> = {
  redis: 6379,
  rediss: 6379,
  mqtt: 1883,
  tcp: 1883,
  mqtts: 8883,
  ssl: 8883,
  tls: 8883,
  ws: 80,
  wss: 443,
  http: 80,
  https: 443,
};

const SECURE = new Set(['rediss', 'mqtts', 'ssl', 'tls', 'wss', 'https']);

export const isSecure = ({ scheme }: Pick<Address, 'scheme'>): boolean => SECURE.has(scheme);

/** A wrong address. The message says what is wrong and what is allowed. It does not repeat the address, which may hold a password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

function refuse(why: string): never {
  throw new AddressError(why);
}

const isRedis = (scheme: string) => KINDS.redis.schemes.includes(scheme);
const isHttp = (scheme: string) => KINDS.http.schemes.includes(scheme);
const isWeb = (scheme: string) => scheme === 'ws' || scheme === 'wss';

/** Throws {@link AddressError}. */
export function parseAddress(kind: AddressKind, text: string): Address {
  const { schemes, like } = KINDS[kind];
  const bytes = Buffer.from(text);
  const strange = bytes.findIndex((byte) => byte <= 0x20 || byte >= 0x7f);
  if (strange !== -1) {
    const written = (bytes[strange] as number).toString(16).toUpperCase().padStart(2, '0');
    refuse(
      `its byte ${strange + 1} is a space, a control character or no ASCII, which is written %${written}`,
    );
  }
  const parts = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i.exec(text);
  if (parts === null) refuse(`it has no scheme; allowed: ${like}`);
  const [, given = '', authority = '', end = ''] = parts as string[];
  const scheme = given.toLowerCase();
  if (!(schemes as string[]).includes(scheme))
    refuse(`its scheme is ${JSON.stringify(scheme)}; allowed: ${like}`);
  const at = authority.lastIndexOf('@');
  if (at === -1 && end.includes('@') && !isHttp(scheme) && !isWeb(scheme))
    refuse('a / ? or # of a user or a password is written %2F, %3F or %23');
  const identity = at === -1 ? { username: '', password: '' } : identityOf(authority.slice(0, at), scheme);
  const hosts = authority.slice(at + 1).split(',');
  if (hosts.length > 1 && !isRedis(scheme)) refuse('it has a comma in its host; allowed: one host:port');
  const nodes = hosts.map((host) => nodeOf(host, scheme)) as [Node, ...Node[]];
  return { scheme, ...identity, nodes, ...endOf(end, scheme, nodes.length) };
}

/** Reads `user:password`. */
function identityOf(text: string, scheme: string): Pick<Address, 'username' | 'password'> {
  if (isHttp(scheme))
    refuse('it has a user or a password, which would end up in tags: use a token (INGEST_TOKEN)');
  if (text.includes('@')) refuse('it has a second @; an @ of a user or a password is written %40');
  const colon = text.indexOf(':');
  const username = decode(colon === -1 ? text : text.slice(0, colon));
  const password = decode(colon === -1 ? '' : text.slice(colon + 1));
  if (username === '' && password === '')
    refuse(
      'it has an @ with no user and no password before it; allowed: user:password@host, or the host alone',
    );
  if (colon !== -1 && password === '') refuse('it has an empty password; allowed: user:password@host');
  if (isRedis(scheme) && colon === -1)
    refuse('it has a user and no password; allowed: user:password@host, :password@host, or the host alone');
  return { username, password };
}

/** Undoes percent-encoding. */
function decode(text: string): string {
  if (/%(?![0-9a-f]{2})/i.test(text)) refuse('a % of a user or a password is written %25');
  try {
    const decoded = decodeURIComponent(text);
    if (!decoded.includes('\0')) return decoded;
  } catch {
    // No UTF-8.
  }
  return refuse('its user or password is no UTF-8 text once it is decoded');
}

function nodeOf(text: string, scheme: string): Node {
  const bracketed = text.startsWith('[');
  if (!bracketed && text.split(':').length > 2) refuse('an IPv6 address must be in brackets: [::1]:port');
  let host = text;
  let port = PORTS[scheme] as number;
  const colon = text.lastIndexOf(':');
  if (colon > text.lastIndexOf(']')) {
    const given = text.slice(colon + 1);
    host = text.slice(0, colon);
    port = Number(given);
    if (!/^[1-9]\d{0,4}$/.test(given) || port > 65535) refuse('its port is not a number from 1 to 65535');
  }
  if (host === '') refuse('it has no host, or an empty one in its list; allowed: host:port');
  if (bracketed) {
    const inner = host.slice(1, -1);
    if (!host.endsWith(']') || !isIPv6(inner) || inner.includes('%'))
      refuse('the brackets in its host hold no IPv6 address; allowed: [::1]:port');
    return { host: inner, port };
  }
  checkName(host);
  return { host, port };
}

/** Checks a host that is a name or an IPv4 address. */
function checkName(host: string): void {
  const labels = host.replace(/\.$/, '').split('.');
  if (/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) as string)) {
    if (isIPv4(host)) return;
    refuse(
      'its host ends in a number and is no IPv4 address; allowed: four numbers from 0 to 255, like 127.0.0.1',
    );
  }
  const fits = labels.every((label) => /^\w([\w-]{0,61}\w)?$/.test(label));
  if (host.length > 253 || !fits)
    refuse('its host is not a name; allowed: letters, digits, - and _, with dots between');
}

/** Reads what follows the host. */
function endOf(text: string, scheme: string, nodes: number): Pick<Address, 'database' | 'target'> {
  const read = { database: 0, target: '' };
  if (text.includes('#')) refuse('it has a #; allowed: nothing after the path');
  if (text.includes('?')) {
    if (isHttp(scheme)) refuse('it has a ?; a query belongs to the path (INGEST_PATH)');
    if (!isWeb(scheme))
      refuse('it has a ?; allowed: nothing after the path, since options of a client are settings');
  }
  if (isHttp(scheme) || isWeb(scheme)) {
    if (/%(?![0-9a-f]{2})/i.test(text)) refuse('a % of its path is written %25');
    return { ...read, target: text };
  }
  if (!isRedis(scheme)) {
    if (text !== '' && text !== '/') refuse('it has a path; allowed: nothing after host:port');
    return read;
  }
  const given = /^\/?(0|[1-9]\d{0,4})?$/.exec(text);
  if (given === null) return refuse('the database after its host is not a number; allowed: like /0');
  const database = Number(given[1] ?? 0);
  if (database > 0 && nodes > 1) refuse('it names nodes of a Redis Cluster, which has no database but 0');
  return { ...read, database };
}
