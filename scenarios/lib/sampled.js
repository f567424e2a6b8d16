import { count, flag } from './env.js';
import { readStack } from './stack.js';

/** With SAMPLED=true one message in how many the pipeline leaves in its trace lists, else 0. Throws where it leaves none. */
export function sampled() {
  if (!flag('SAMPLED', false)) return 0;
  const { facts } = __ENV.INGEST_URL ? {} : readStack();
  if (facts?.trace_log_every === 0)
    throw new Error(
      'SAMPLED is true, and the pipeline that is up leaves no trace lists: start it with TRACE_LOG_EVERY=100, or stop it',
    );
  return facts?.trace_log_every ?? count('TRACE_LOG_EVERY', 100);
}
