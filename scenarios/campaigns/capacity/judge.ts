import { type Run, STAGES } from '../../../reports/contract/run.ts';
import { figure, ms } from '../../../reports/page/format.ts';
import { isOpen, limited, rulesOf } from '../../../reports/rules.ts';

/** The judgement of a probe. */
export interface Judgement {
  holds: boolean;
  /** Why not, in a few words each. */
  reasons: string[];
}

/**
 * Judges whether a run held its rate: all messages arrived, p99 is below the limit, the backlog is flat. Rules on the instrument do not
 * count, as a late generator only adds to the arrival; except those without which there is nothing to judge.
 */
export function judge(run: Run): Judgement {
  const rules = rulesOf(run);
  const reasons = rules
    .filter(
      (rule) =>
        (rule.result !== 'invalid' || MEASURED.includes(rule.name)) && (rule.ok === false || isOpen(rule)),
    )
    .map(
      (rule) =>
        SAID[rule.name]?.(run) ??
        (rule.ok === null ? `${limited(rule)}: not judged` : rule.reason || rule.name),
    );
  return { holds: rules.length > 0 && reasons.length === 0, reasons };
}

/** Rules on the instrument that count: without them nobody knows whether messages were lost. */
const MEASURED = ['balanced', 'measured', 'dropped', 'gaps'];

const SAID: Record<string, (run: Run) => string> = {
  arrival_p99: ({ latency }) => `p99 ${ms(latency.arrival.p99)} ms`,
  backlog_growth: ({ figures }) => `the backlog grows by ${figure(figures?.[0]?.value)} % of the rate`,
  rejected: ({ account }) => `${account.rejected} rejected`,
  lost: ({ account }) => `${account.lost} lost`,
  queued: ({ account }) => `${account.queued} left in the queue`,
  unknown: ({ account }) => `${account.unknown} without an answer`,
  dropped: ({ account }) => `${account.dropped} messages were never sent`,
  balanced: () => 'the run could not be measured',
  measured: () => 'the run could not be measured',
  gaps: ({ account }) =>
    `a subscriber lost its connection, and ${account.deliveries.missing} deliveries are missing`,
  finished: () => 'the run was cut off',
};

/** As internal/judge: % of the host's CPU stolen by the hypervisor that disturbs a run. */
const STEAL_MUCH = 2;
/** The same in one second, as a tenth of a second decides p99 of a run of ten. */
const STEAL_MUCH_AT_ONCE = 10;
/** % of the host's CPU that processes outside the run may use. */
const OTHERS_MUCH = 5;

/** The share of due messages that may be in flight at the end. */
const UNDER_WAY = 0.02;

/**
 * Why a run that did not hold might have held on an undisturbed machine: others took CPU that would have been enough for the missing
 * messages. Undefined: it would not.
 */
export function disturbance(run: Run): string | undefined {
  const hold = run.timeline.filter(({ phase }) => phase === 'hold');
  const steal = hold.flatMap(({ generator }) => generator?.steal_percent ?? []);
  const mean = steal.length === 0 ? 0 : sum(steal) / steal.length;
  const most = Math.max(0, ...steal);
  const others = othersUse(run);
  const disturbances: string[] = [];
  if (mean >= STEAL_MUCH || most >= STEAL_MUCH_AT_ONCE)
    disturbances.push(
      `the hypervisor took ${figure(mean)} % of the CPU, ${figure(most)} % in the worst second`,
    );
  if (others >= OTHERS_MUCH) disturbances.push(`other processes took ${figure(others)} % of the CPU`);
  const carried = sum(hold.map(({ arrived }) => arrived)) / sum(hold.map(({ scheduled }) => scheduled));
  const overloaded = carried < (1 - (mean + others) / 100) * (1 - UNDER_WAY);
  return disturbances.length === 0 || overloaded ? undefined : disturbances.join(', ');
}

/** % of the shared host's CPU that processes outside the run used; 0: unknown. */
function othersUse({ steps, environment: { shared_host, cores } }: Run): number {
  const { host, ...ours } = steps.find(({ name }) => name === 'hold')?.cpu_percent ?? {};
  if (!shared_host || !cores || host === undefined) return 0;
  return Math.max(0, host - sum(Object.values(ours))) / cores;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** Requests that capacity.js can have in flight. */
const IN_FLIGHT = 256;

/**
 * The stage whose mean grew the most from a run that held (undefined: none did) to one that did not. Undefined: the pipeline
 * reports no stages.
 *
 * `schedule` grows when the generator is late. When that is because all of its connections wait for answers, the
 * bottleneck is `request`. Where the generator shares its cores with the pipeline, the next stage is named too.
 */
export function bottleneckOf(held: Run | undefined, not: Run): string | undefined {
  if (not.account.rejected > 0) return 'ingest, which refused messages';
  const [stage, next] = STAGES.map((name): [string, number] => {
    const [from, to] = [held, not].map((run) => run?.latency.stages[name]?.mean ?? 0) as [number, number];
    return [name, to - from];
  })
    .filter(([, growth]) => growth > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
  if (stage !== 'schedule') return stage;
  const hold = not.steps.find((step) => step.measured);
  const waiting = hold ? (hold.requests / hold.duration_s) * ((hold.latency.http.mean ?? 0) / 1000) : 0;
  if (waiting > 0.8 * IN_FLIGHT) return 'request';
  if (!not.environment.shared_host) return 'schedule: the generator, not the pipeline';
  return `schedule: the generator, which shares its cores with the pipeline${next === undefined ? '' : `; of the pipeline ${next}`}`;
}
