import { readStack } from './stack.js';

/** @import { samples } from './declarations.js' */
/** @import { Values } from './env.js' */

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
