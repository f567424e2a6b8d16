import { figure, ms } from '../../reports/page/format.ts';
import type { Run } from '../../reports/run.ts';

/** What a probe says of its rate. */
export interface Judgement {
  holds: boolean;
  /** Why not, in a few words each. */
  reasons: string[];
}

/**
 * A rate is held when each message has arrived, p99 is below the limit and the backlog flat: every threshold of the run but
 * that on the instrument. A generator that is late counts in the arrival, so what is held with it is held without it.
 */
export function judge(run: Run): Judgement {
  const { account, latency, thresholds } = run;
  const reasons = thresholds
    .filter(({ metric, ok }) => ok !== true && metric !== 'arrival_invalid')
    .map(({ metric, expression }) => SAID[metric]?.(run) ?? `${metric} ${expression}`);
  if (account.dropped > 0) reasons.push(`${account.dropped} messages were never sent`);
  if (!account.balanced || latency.arrival.count === 0) reasons.push('the run could not be measured');
  if (run.verdict.result === 'incomplete') reasons.push('the run was cut off');
  return { holds: reasons.length === 0, reasons };
}

const SAID: Record<string, (run: Run) => string> = {
  hold_p99_ms: ({ latency }) => `p99 ${ms(latency.arrival.p99)} ms`,
  backlog_growth: ({ figures }) => `the backlog grows by ${figure(figures?.[0]?.value)} % of the rate`,
  arrival_rejected: ({ account }) => `${account.rejected} rejected`,
  arrival_lost: ({ account }) => `${account.lost} lost`,
  arrival_queued: ({ account }) => `${account.queued} left in the queue`,
  arrival_unknown: ({ account }) => `${account.unknown} without an answer`,
};

/** Requests that capacity.js can have in flight. */
const IN_FLIGHT = 256;

/**
 * What gave way from a run that held (undefined: none did) to one that did not: the stage whose mean grew the most. The generator
 * is late (`schedule`) also where all of its connections wait for answers; then it is the request. Undefined: the pipeline tells no
 * stages.
 */
export function gaveWay(held: Run | undefined, not: Run): string | undefined {
  if (not.account.rejected > 0) return 'ingest, which refused messages';
  let most = 0;
  let stage: string | undefined;
  for (const [name, { mean }] of Object.entries(not.latency.stages)) {
    const growth = (mean ?? 0) - (held?.latency.stages[name as keyof Run['latency']['stages']]?.mean ?? 0);
    if (growth > most) [most, stage] = [growth, name];
  }
  if (stage !== 'schedule') return stage;
  const hold = not.steps.find((step) => step.measured);
  const waiting = hold ? (hold.requests / hold.duration_s) * ((hold.latency.http.mean ?? 0) / 1000) : 0;
  return waiting > 0.8 * IN_FLIGHT ? 'request' : 'schedule: the generator, not the pipeline';
}
