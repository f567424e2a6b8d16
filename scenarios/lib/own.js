// A pipeline of the user's own: what it takes, where its messages end, and the load that most have.

/** @import { RunOptions } from 'k6/x/arrival' */
/** @import { ownPipeline } from './declarations.js' */
/** @import { Values } from './env.js' */
/** @import { Flow } from './load.js' */
import { arrive, targeted } from './arrive.js';
import { fuzz, profileOf, textsOf } from './load.js';
import { sampled } from './stack.js';

/** @typedef {Values<ReturnType<typeof ownPipeline>>} OwnPipeline */

/**
 * The options of new Run() by the settings of ownPipeline().
 * @param {OwnPipeline} set
 * @param {Required<Pick<RunOptions, 'ingest' | 'mqtt' | 'canary'>>} shared
 */
export function ownOptions(set, shared) {
  return {
    ...takes(set, shared),
    ...arrive(set, shared),
    fuzz: fuzz(set),
    stages: set.STAGES ? set.STAGES.split(',') : undefined,
    sampled: sampled(set),
    flows: flowsOf(set),
  };
}

/** Settings with which a script's own flows are not those of the pipeline: it need not know batches or rooms. */
const ONE_FLOW = ['INGEST_PATH', 'BODY', 'BODY_FILE', 'FILTER', 'TARGET', 'DELIVERIES'];

/**
 * One flow in place of a script's own; undefined: these stay, or PROFILE has others.
 * @param {OwnPipeline & { PROFILE?: string }} set
 * @returns {Flow[] | undefined}
 */
function flowsOf({ ARRIVE, TARGET, DELIVERIES, PROFILE }) {
  if (PROFILE && __ENV.PROFILE) {
    const other = ['TARGET', 'DELIVERIES'].find((name) => __ENV[name]);
    if (other) throw new Error(`${other} is set, and PROFILE says it: leave out one of them`);
    return undefined;
  }
  if (ARRIVE === 'mqtt' && !ONE_FLOW.some((name) => __ENV[name])) return undefined;
  return [{ name: 'own', target: TARGET, deliveries: DELIVERIES }];
}

/**
 * What is posted, and how.
 * @param {OwnPipeline} set
 * @param {Required<Pick<RunOptions, 'ingest'>>} shared
 */
function takes(set, { ingest }) {
  const named = set.BODY ? 'BODY' : 'BODY_FILE';
  const own = set.BODY || set.BODY_FILE;
  if (set.BODY && set.BODY_FILE) throw new Error('BODY and BODY_FILE are set: leave out one of them');
  if (own && __ENV.ID_KEY && __ENV.INGEST_URL)
    throw new Error(`ID_KEY is of the default body, and ${named} has {{id}} where it belongs: leave out one`);
  return {
    ingest: {
      ...ingest,
      ...(set.INGEST_PATH && { path: set.INGEST_PATH }),
      ...(set.INGEST_PATH && !targeted(set.INGEST_PATH) && { batchPath: set.INGEST_PATH }),
      headers: textsOf('HEADERS', set.HEADERS),
      keepAlive: set.KEEPALIVE,
      retries: set.RETRIES,
    },
    body: set.BODY ?? (set.BODY_FILE && open(set.BODY_FILE)),
    ...(own && { id: undefined }), // ID_KEY is for the pipeline that is started
    idFormat: set.ID_FORMAT,
    idFrom: set.ID_FROM,
    timeout: set.TIMEOUT,
  };
}

/**
 * A warm-up, and a load at one rate.
 * @param {string} name for the report
 * @param {{ RATE: number, DURATION: number, WARMUP: number }} set
 * @param {Flow} flow
 */
export function steadily(name, { RATE, DURATION, WARMUP }, flow) {
  return profileOf(name, {
    phases: [
      { name: 'warm-up', duration: WARMUP, arrivalRate: RATE, measured: false },
      { name: 'steady', duration: DURATION, arrivalRate: RATE },
    ],
    flows: [flow],
  });
}

/**
 * The header fields of a request that a script sends by k6/http.
 * @param {Pick<RunOptions, 'ingest'>} shared
 * @param {string} [token] instead of the pipeline's
 */
export function headersOf({ ingest }, token = ingest.token) {
  if (__ENV.RETRIES && Number(__ENV.RETRIES) > 0)
    throw new Error('RETRIES is set, and k6/http sends these requests, each once: leave it out');
  const others = Object.entries(ingest.headers ?? {});
  const given = (/** @type {string} */ name) => others.some(([other]) => other.toLowerCase() === name);
  return {
    ...(!given('content-type') && { 'Content-Type': 'application/json' }),
    ...(token && !given('authorization') && { Authorization: `Bearer ${token}` }),
    ...ingest.headers,
  };
}
