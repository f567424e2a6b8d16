// The places where the messages of a user's own pipeline arrive.

/** @import { RunOptions } from 'k6/x/arrival' */
/** @import { OwnPipeline } from './own.js' */
import { textsOf } from './load.js';
import { at } from './stack.js';

/** The kinds of receivers that a setting is for. */
export const KINDS = {
  MQTT_URL: ['mqtt'],
  TOPIC_PREFIX: ['mqtt'],
  FILTER: ['mqtt'],
  QOS: ['mqtt'],
  MQTT_VERSION: ['mqtt'],
  SESSION: ['mqtt'],
  WEBHOOK_ADDRESS: ['webhook'],
  WEBHOOK_PATH: ['webhook'],
  WEBHOOK_URL: ['webhook'],
  WEBHOOK_SECRET: ['webhook'],
  WEBHOOK_SIGNATURE: ['webhook'],
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
 * @param {OwnPipeline} set
 * @param {Required<Pick<RunOptions, 'mqtt' | 'canary'>>} shared
 * @returns {Partial<RunOptions>}
 */
export function arrive(set, { mqtt, canary }) {
  const kind = set.ARRIVE;
  refuseOthers(kind);
  if (kind === 'webhook') return { ...called(set, canary), canary };
  if (kind !== 'mqtt') return pushed(kind, set, canary);
  if (__ENV.TOPIC_PREFIX && set.FILTER)
    throw new Error('TOPIC_PREFIX and FILTER both say which topics are subscribed to: leave one out');
  return {
    mqtt: { ...mqtt, prefix: set.TOPIC_PREFIX, filter: set.FILTER, qos: set.QOS, version: set.MQTT_VERSION },
    canary: canary && !set.FILTER,
    greet: canary,
  };
}

/** @param {string} kind */
function refuseOthers(kind) {
  if (kind !== 'mqtt' && !__ENV.INGEST_URL)
    throw new Error(`ARRIVE=${kind} is for a pipeline of your own: set INGEST_URL`);
  for (const [name, kinds] of Object.entries(KINDS))
    if (__ENV[name] && !kinds.includes(kind))
      throw new Error(`${name} is for ARRIVE=${kinds.join(' or ')}, and ARRIVE is ${kind}: leave it out`);
}

/**
 * The options of a pipeline that calls a webhook.
 * @param {OwnPipeline} set
 * @param {boolean} canary
 */
function called(set, canary) {
  return {
    mqtt: undefined,
    webhook: {
      address: set.WEBHOOK_ADDRESS,
      path: set.WEBHOOK_PATH,
      url: set.WEBHOOK_URL,
      secret: set.WEBHOOK_SECRET,
      signature: set.WEBHOOK_SIGNATURE,
      cert: pem(set.WEBHOOK_CERT),
      key: pem(set.WEBHOOK_KEY),
      hops: set.HOPS,
    },
    greet: canary,
  };
}

/**
 * The options of a pipeline that pushes to clients.
 * @param {'websocket' | 'sse'} kind
 * @param {OwnPipeline} set
 * @param {boolean} canary
 */
function pushed(kind, set, canary) {
  const all = {
    connections: set.CLIENTS,
    headers: textsOf('CLIENT_HEADERS', set.CLIENT_HEADERS),
    hops: set.HOPS,
  };
  const shared = {
    mqtt: undefined,
    // Clients without targets of their own get every message, so there is no address for a canary.
    canary: canary && targeted(`${set.WEBSOCKET_URL} ${set.WEBSOCKET_SEND} ${set.SSE_URL}`),
    greet: canary,
  };
  if (kind === 'sse') return { ...shared, sse: { url: set.SSE_URL ?? '', ...all } };
  return {
    ...shared,
    websocket: {
      url: set.WEBSOCKET_URL ?? '',
      protocol: set.WEBSOCKET_PROTOCOL,
      send: set.WEBSOCKET_SEND ? [set.WEBSOCKET_SEND] : undefined,
      await: set.WEBSOCKET_AWAIT,
      ...all,
    },
  };
}

/** @param {string} [text] */
export const targeted = (text = '') => /\{\{\s*target\s*\}\}/.test(text);

/** @param {string | undefined} path */
const pem = (path) => (path ? open(at('../..', path)) : undefined);
