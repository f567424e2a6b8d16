// The running pipeline of `npm run pipeline`.

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
