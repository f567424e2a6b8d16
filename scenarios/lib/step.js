// A step of a run in one line, for a script that reports while it runs.

import { count, ms } from './words.js';

/** @import { Latency, Step } from '../../reports/contract/run.ts' */

/**
 * A step in one line.
 * @param {Pick<Step, 'name' | 'arrived' | 'scheduled' | 'backlog'> & { latency: { arrival: Pick<Latency, 'p50' | 'p99' | 'max'> } }} step
 */
export function line({ name, arrived, scheduled, backlog, latency: { arrival } }) {
  return (
    `${name}: ${count(scheduled)} scheduled, ${count(arrived)} deliveries, p50 ${ms(arrival.p50)} ms, p99 ${ms(arrival.p99)} ms, ` +
    `max ${ms(arrival.max)} ms, backlog ${backlog == null ? 'n/a' : count(backlog)}`
  );
}
