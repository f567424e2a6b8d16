// Where the messages of a pipeline of the user's own end.

/** @import { RunOptions } from 'k6/x/arrival' */
/** @import { arrivals } from './declarations.js' */
/** @import { Values } from './env.js' */
import { textsOf } from './load.js';
import { at } from './stack.js';

/** The settings that only some kinds of receivers have. */
const ONLY = {
  TOPIC_PREFIX: ['mqtt'],
  FILTER: ['mqtt'],
  QOS: ['mqtt'],
  MQTT_VERSION: ['mqtt'],
  SESSION: ['mqtt'],
  WEBHOOK_ADDRESS: ['webhook'],
  WEBHOOK_PATH: ['webhook'],
  WEBHOOK_URL: ['webhook'],
  WEBHOOK_SECRET: ['webhook'],
  WEBHOOK_CERT: ['webhook'],
  WEBHOOK_KEY: ['webhook'],
  WEBSOCKET_URL: ['websocket'],
  WEBSOCKET_PROTOCOL: ['websocket'],
  WEBSOCKET_SEND: ['websocket'],
  WEBSOCKET_AWAIT: ['websocket'],
  SSE_URL: ['sse'],
  CLIENTS: ['websocket', 'sse'],
  CLIENT_HEADERS: ['websocket', 'sse'],
  HOPS: ['webhook', 'websocket', 'sse'],
};

/**
 * The options of new Run() that say where messages arrive. Throws where a setting is of another kind than ARRIVE, which
 * would ignore it.
 * @param {Values<ReturnType<typeof arrivals>>} set
 * @param {Required<Pick<RunOptions, 'mqtt' | 'canary'>>} shared
 * @returns {Partial<RunOptions>}
 */
export function arrive(set, { mqtt, canary }) {
  const kind = set.ARRIVE;
  for (const [name, kinds] of Object.entries(ONLY))
    if (__ENV[name] && !kinds.includes(kind))
      throw new Error(`${name} is for ARRIVE=${kinds.join(' or ')}, and ARRIVE is ${kind}: leave it out`);
  if (kind !== 'mqtt' && !__ENV.INGEST_URL)
    throw new Error(`ARRIVE=${kind} is for a pipeline of your own: set INGEST_URL`);
  const clients = {
    connections: set.CLIENTS,
    headers: textsOf('CLIENT_HEADERS', set.CLIENT_HEADERS),
    hops: set.HOPS,
  };
  // Without targets of their own, all clients get every message, and a canary would have no address.
  const targeted = /\{\{\s*target\s*\}\}/.test(`${set.WEBSOCKET_URL} ${set.WEBSOCKET_SEND} ${set.SSE_URL}`);
  switch (kind) {
    case 'webhook':
      return {
        webhook: {
          address: set.WEBHOOK_ADDRESS,
          path: set.WEBHOOK_PATH,
          url: set.WEBHOOK_URL,
          secret: set.WEBHOOK_SECRET,
          cert: pem(set.WEBHOOK_CERT),
          key: pem(set.WEBHOOK_KEY),
          hops: set.HOPS,
        },
        canary,
        greet: canary,
      };
    case 'websocket':
      return {
        websocket: {
          url: set.WEBSOCKET_URL ?? '',
          protocol: set.WEBSOCKET_PROTOCOL,
          send: set.WEBSOCKET_SEND ? [set.WEBSOCKET_SEND] : undefined,
          await: set.WEBSOCKET_AWAIT,
          ...clients,
        },
        canary: canary && targeted,
        greet: canary,
      };
    case 'sse':
      return { sse: { url: set.SSE_URL ?? '', ...clients }, canary: canary && targeted, greet: canary };
    default:
      return {
        mqtt: {
          ...mqtt,
          prefix: set.TOPIC_PREFIX,
          filter: set.FILTER,
          qos: set.QOS,
          version: set.MQTT_VERSION,
        },
        canary: canary && !set.FILTER,
        greet: canary,
      };
  }
}

/** @param {string | undefined} path */
const pem = (path) => (path ? open(at('../..', path)) : undefined);
