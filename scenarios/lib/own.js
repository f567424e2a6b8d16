// What scripts for a pipeline of the user's own share: what it takes, and the load.

/** @import { RunOptions } from 'k6/x/arrival' */
/** @import { requested } from './declarations.js' */
/** @import { Values } from './env.js' */
/** @import { Flow } from './load.js' */
import { targeted } from './arrive.js';
import { profileOf, textsOf } from './load.js';

/**
 * The options of new Run() for the requests.
 * @param {Values<ReturnType<typeof requested>>} set
 * @param {Required<Pick<RunOptions, 'ingest'>>} shared
 */
export function takes(set, { ingest }) {
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
    maxSenders: set.SENDERS,
  };
}

/**
 * A warm-up, and a load at one rate.
 * @param {string} name for the report
 * @param {Values<ReturnType<typeof requested>>} set
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
