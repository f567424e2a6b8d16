/** The rules by which a run is judged: those of extensions/k6/arrival/rules.go. */
import type {
  Account,
  Clock,
  Gap,
  Interval,
  Latencies,
  Latency,
  Run,
  VerdictResult,
} from '../../reports/run.ts';

const LATE_SHARE = 0.05;
/** ms; below it is the scheduler's */
const LATE_FLOOR = 2;
const BUSY_SHARE = 0.9;
/** % of the host's CPU over the run */
const STEAL_MUCH = 2;
const BUSY_SECONDS = 0.05;
const NEGATIVE_SHARE = 0.01;
const CLOCK_SHARE = 0.1;

export interface Evidence {
  account: Account;
  latency: Latencies;
  /** Of all that was sent; null: nothing, or the closed model. */
  lateness: Latency | null;
  clock: Clock;
  gaps: Gap[];
  timeline: Interval[];
  cores: number;
  /** Of the subscriptions. */
  qos: 0 | 1;
  ended: boolean;
  /** What else went wrong with the instrument. */
  doubts: string[];
}

type Judged = Pick<Run, 'verdict' | 'thresholds'>;

/** What must not happen. */
const NONE = ['lost', 'queued', 'dead_lettered', 'unknown', 'rejected'] as const;

export function judge(evidence: Evidence): Judged {
  const { account, gaps, qos, ended } = evidence;
  const invalid = ended ? doubtsOf(evidence) : [];
  // At most once: a loss is counted, and no failure. Nor is one that may have been the subscriber's.
  const judged = NONE.filter((end) => end !== 'lost' || (qos > 0 && gaps.length === 0));
  const thresholds = judged.map((end) => ({
    metric: `arrival_${end}`,
    expression: 'count==0',
    ok: ended ? account[end] === 0 : null,
  }));
  const crossed = judged
    .filter((end) => ended && account[end] > 0)
    .map((end) => `${account[end]} messages ${end.replace('_', '-')}`);
  const result: VerdictResult = !ended
    ? 'incomplete'
    : invalid.length > 0
      ? 'invalid'
      : crossed.length > 0
        ? 'fail'
        : 'pass';
  const reasons = ended ? [...invalid, ...crossed] : ['the run was stopped before everything was in'];
  return { verdict: { result, reasons }, thresholds };
}

function doubtsOf({ account, latency, lateness, clock, gaps, timeline, cores, doubts }: Evidence): string[] {
  const reasons = [...doubts];
  if (!account.balanced) reasons.push('the account does not balance');
  if (latency.arrival.count === 0) reasons.push('no delivery was measured, so there is no latency to judge');
  const late = lateness?.p99 ?? 0;
  const arrival = latency.arrival.p99 ?? 0;
  const steal = stolen(timeline);
  if (late > LATE_FLOOR && late > LATE_SHARE * arrival) {
    reasons.push(
      `the generator was late: lateness p99 ${late.toFixed(1)} ms of arrival p99 ${arrival.toFixed(1)} ms; ${steal ?? 'Artillery sends from one thread'}`,
    );
  }
  const busy = timeline.filter(
    ({ generator }) => (generator?.cpu_percent ?? 0) > BUSY_SHARE * 100 * cores,
  ).length;
  if (busy > BUSY_SECONDS * timeline.length) {
    reasons.push(
      `the generator was out of CPU: above ${BUSY_SHARE * 100} % of its ${cores} cores in ${busy} of ${timeline.length} seconds${steal === undefined ? '' : `; ${steal}`}`,
    );
  }
  if (account.dropped > 0) {
    reasons.push(
      `${account.dropped} of ${account.scheduled} messages were never sent: Artillery started too few virtual users`,
    );
  }
  if (gaps.length > 0) reasons.push('a subscriber was without its connection');
  if (account.negative > NEGATIVE_SHARE * account.deliveries.arrived) {
    reasons.push(`${account.negative} deliveries have a stage below zero`);
  }
  return [...reasons, ...clockReasons(clock, latency)];
}

/** Names the hypervisor where it took much. */
function stolen(timeline: Interval[]): string | undefined {
  const shares = timeline.flatMap(({ generator }) => generator?.steal_percent ?? []);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  if (shares.length === 0 || mean < STEAL_MUCH) return undefined;
  return `the hypervisor took ${mean.toFixed(0)} % of this host's CPU meanwhile, and ${Math.max(...shares).toFixed(0)} % in the worst second`;
}

function clockReasons(clock: Clock, { stages }: Latencies): string[] {
  const bound = clock.bound_ms ?? 0;
  const reasons: string[] = [];
  if (clock.limit_ms !== null && bound > clock.limit_ms) {
    reasons.push(
      `the clock bound ±${bound.toFixed(3)} ms is above the limit of ${clock.limit_ms.toFixed(3)} ms`,
    );
  }
  if (clock.one_host) return reasons;
  // A stage that is shorter than the bound is marked as such in the report.
  const shortest = (['request', 'queue', 'delivery'] as const)
    .flatMap((stage) => (stages[stage].p50 === null ? [] : [{ stage, p50: stages[stage].p50 }]))
    .filter(({ p50 }) => p50 >= bound)
    .sort((a, b) => a.p50 - b.p50)[0];
  if (shortest !== undefined && bound > CLOCK_SHARE * shortest.p50) {
    reasons.push(
      `the clock bound ±${bound.toFixed(3)} ms is more than 10 % of the stage ${shortest.stage} (p50 ${shortest.p50.toFixed(3)} ms)`,
    );
  }
  return reasons;
}
