/** A second of the run, as timeline.ndjson and the page have it. */
import { briefOf } from '../../reports/latency.ts';
import { type Interval, STAGES } from '../../reports/run.ts';
import type { Ledger } from './ledger.ts';
import type { Schedule } from './schedule.ts';

/**
 * @param t its number
 * @param now s since the start of the run
 * @param ledger what has been counted since the second began
 */
export function secondOf(
  t: number,
  now: number,
  schedule: Schedule,
  ledger: Ledger,
): Omit<Interval, 'canary_ms' | 'generator'> {
  const { second, measures } = ledger;
  const { interval, stamped, stageSums } = measures;
  const [first, last] = [schedule.dueBefore(t), schedule.dueBefore(t + 1)];
  const phase = schedule.phases.find((_, i) => {
    const { start, length } = schedule.span(i, now) ?? { start: now, length: 0 };
    return start <= t && t < start + length;
  });
  return {
    t,
    phase: phase?.name ?? null,
    requests: last - first,
    scheduled: schedule.messages(last) - schedule.messages(first),
    sent: second.sent,
    accepted: second.accepted,
    rejected: second.rejected,
    failed: second.failed,
    arrived: interval.arrival.count,
    backlog: ledger.owed,
    arrival: briefOf(interval.arrival),
    from_send: briefOf(interval.from_send),
    http: briefOf(interval.http),
    arrival_bins: interval.arrival.bins(),
    stages:
      stamped === 0
        ? null
        : (Object.fromEntries(
            STAGES.map((stage, i) => [stage, (stageSums[i] as number) / stamped / 1000]),
          ) as Interval['stages']),
  };
}
