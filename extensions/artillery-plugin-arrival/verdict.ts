/** The rules by which a run is judged: those of extensions/k6/internal/judge. */
import type {
  Account,
  Clock,
  Gap,
  Interval,
  Latencies,
  Latency,
  Rule,
  Verdict,
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

/** What a pipeline owes for each message. */
const ENDS = ['lost', 'rejected', 'unknown', 'dead_lettered', 'queued'] as const;

export function judge(evidence: Evidence): Verdict {
  const { account, gaps, qos, ended, doubts } = evidence;
  const cut = 'the run was stopped before everything was in';
  // At most once: a loss is counted, and no failure. Nor is one that may have been the subscriber's.
  const owed = ENDS.filter((end) => end !== 'lost' || (qos > 0 && gaps.length === 0));
  const known = [
    ...instrument(evidence),
    ...owed.map((end) =>
      atMost(end, account[end], 0, 'messages', `${account[end]} messages ${end.replace('_', '-')}`, {
        result: 'fail',
      }),
    ),
  ];
  const rules = [
    fact('finished', ended, cut, 'incomplete'),
    ...doubts.map((doubt) => fact('instrument', false, doubt)),
    ...(ended ? known : known.map((rule) => ({ ...rule, ok: null, reason: '' }))),
  ];
  const broken = rules.filter(({ ok }) => ok === false);
  const result = WORST.find((worst) => broken.some((rule) => rule.result === worst)) ?? 'pass';
  return { result, reasons: broken.map(({ reason }) => reason), rules, stands: [] };
}

const WORST: readonly VerdictResult[] = ['incomplete', 'invalid', 'fail'];

/** Something that is so or not. */
function fact(name: string, ok: boolean, reason: string, result: VerdictResult = 'invalid'): Rule {
  return {
    name,
    value: null,
    op: '',
    limit: null,
    unit: '',
    ok,
    result,
    basis: '',
    reason: ok ? '' : reason,
  };
}

function atMost(
  name: string,
  value: number,
  limit: number,
  unit: string,
  reason: string,
  more: Partial<Rule> = {},
): Rule {
  const ok = value <= limit;
  const rule: Rule = { name, value, op: '<=', limit, unit, ok, result: 'invalid', basis: '', reason: '' };
  return { ...rule, ...more, reason: ok ? '' : reason };
}

function instrument({ account, latency, lateness, clock, gaps, timeline, cores }: Evidence): Rule[] {
  const arrival = latency.arrival.p99 ?? 0;
  const steal = stolen(timeline);
  const rules = [
    fact('balanced', account.balanced, 'the account does not balance'),
    fact('measured', latency.arrival.count > 0, 'no delivery was measured, so there is no latency to judge'),
  ];
  if (lateness?.p99 != null) {
    const late = `the generator was late: lateness p99 ${lateness.p99.toFixed(1)} ms of arrival p99 ${arrival.toFixed(1)} ms; ${steal ?? 'Artillery sends from one thread'}`;
    const basis = `${LATE_SHARE * 100} % of arrival p99, no less than ${LATE_FLOOR} ms`;
    const limit = Math.max(LATE_FLOOR, LATE_SHARE * arrival);
    rules.push(atMost('lateness', lateness.p99, limit, 'ms', late, { basis }));
  }
  if (timeline.some(({ generator }) => generator?.cpu_percent != null)) {
    const most = BUSY_SHARE * 100 * cores;
    const busy = timeline.filter(({ generator }) => (generator?.cpu_percent ?? 0) > most).length;
    const full = `the generator was out of CPU: above ${BUSY_SHARE * 100} % of its ${cores} cores in ${busy} of ${timeline.length} seconds${steal === undefined ? '' : `; ${steal}`}`;
    const basis = `${BUSY_SECONDS * 100} % of the seconds may be above ${BUSY_SHARE * 100} % of ${cores} cores`;
    rules.push(atMost('cpu', busy, BUSY_SECONDS * timeline.length, 's', full, { basis }));
  }
  const unsent = `${account.dropped} of ${account.scheduled} messages were never sent: Artillery started too few virtual users`;
  const negative = `${account.negative} deliveries have a stage below zero`;
  rules.push(
    atMost('dropped', account.dropped, 0, 'messages', unsent),
    atMost('gaps', gaps.length, 0, '', 'a subscriber was without its connection'),
    atMost(
      'negative',
      account.negative,
      NEGATIVE_SHARE * account.deliveries.arrived,
      'deliveries',
      negative,
      {
        basis: `${NEGATIVE_SHARE * 100} % of the deliveries`,
      },
    ),
  );
  const { bound_ms, limit_ms } = clock;
  if (limit_ms !== null) {
    const wide = `the clock bound ±${(bound_ms ?? 0).toFixed(3)} ms is above the limit of ${limit_ms.toFixed(3)} ms`;
    rules.push(atMost('clock_bound', bound_ms ?? 0, limit_ms, 'ms', wide));
  }
  return rules;
}

/** Names the hypervisor where it took much. */
function stolen(timeline: Interval[]): string | undefined {
  const shares = timeline.flatMap(({ generator }) => generator?.steal_percent ?? []);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  if (shares.length === 0 || mean < STEAL_MUCH) return undefined;
  return `the hypervisor took ${mean.toFixed(0)} % of this host's CPU meanwhile, and ${Math.max(...shares).toFixed(0)} % in the worst second`;
}
