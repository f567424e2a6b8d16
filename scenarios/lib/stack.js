// The running pipeline of `npm run pipeline`.

/** @import { samples } from './declarations.js' */
/** @import { Values } from './env.js' */

/**
 * The part that scripts read; pipeline/stack/file.ts has all of it.
 * @typedef {object} Stack
 * @property {{ url: string, token?: string }} ingest
 * @property {{ url: string }} redis
 * @property {{ url: string, username?: string, password?: string, status?: string, more?: string[] }} mqtt
 * @property {'stream' | 'list'} queue
 * @property {{ shards: number, cluster: boolean, prefix?: string }} division
 * @property {{ redisUrl: string, mqttUrl: string, queueUrl: string }} stages
 * @property {Record<string, string | number | boolean>} facts
 * @property {true} [oneHost]
 * @property {string} [ca]
 */

/**
 * A path as k6's open() takes it, which decodes no URL: an absolute one as it is, any other seen from `base`.
 * @param {string} base
 * @param {string} path
 */
export function at(base, path) {
  if (path.startsWith('/')) return path;
  return decodeURIComponent(import.meta.resolve(`${base}/`).slice('file://'.length)) + path;
}

/**
 * Reads stack.json; empty when no pipeline is up.
 * @returns {Partial<Stack>}
 */
export function readStack() {
  const path = at('../..', `${__ENV.STACK_DIR || '.stack'}/stack.json`);
  /** @type {string} */
  let text;
  try {
    text = open(path);
  } catch (error) {
    if (/no such file|does not exist|cannot find/.test(String(error))) return {};
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Error(`${path} is not JSON: ${message}; it is what the pipeline writes when it starts`);
  }
}

/**
 * How many messages stand behind one in the pipeline's trace lists; 0 without SAMPLED=true. Throws when it has no lists.
 * @param {Values<ReturnType<typeof samples>>} settings
 */
export function sampled({ SAMPLED, TRACE_LOG_EVERY }) {
  if (!SAMPLED) return 0;
  const { facts } = __ENV.INGEST_URL ? {} : readStack();
  const every = Number(facts?.trace_log_every ?? TRACE_LOG_EVERY);
  if (every === 0)
    throw new Error(
      'SAMPLED is true, and the pipeline that is up leaves no trace lists: start it with TRACE_LOG_EVERY=100, or stop it',
    );
  return every;
}
