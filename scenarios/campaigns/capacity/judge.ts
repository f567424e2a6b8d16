import judging from '../../../reports/contract/judging.json' with { type: 'json' };
import { latencyOf, type Rule, type Run, stagesOf } from '../../../reports/contract/run.ts';
import { percent, plain } from '../../../reports/page/format.ts';
import { isOpen, limited, measuredText, rulesOf } from '../../../reports/rules.ts';

/** The judgement of a probe. */
export interface Judgement {
  holds: boolean;
  /** Why not, in a few words each. */
  reasons: string[];
}

/**
 * Judges whether a run held its rate: all messages arrived, p99 is below the limit, the backlog is flat. Rules on the instrument do not
 * count, as a late generator only adds to the arrival; except those without which nobody knows which messages arrived.
 */
export function judge(run: Run): Judgement {
  const rules = rulesOf(run);
  const reasons = rules
    .filter(
      ({ result, trusted_anyway }) => result !== 'invalid' || trusted_anyway?.includes('account') !== true,
    )
    .filter((rule) => rule.ok === false || isOpen(rule))
    .map(said);
  return { holds: rules.length > 0 && reasons.length === 0, reasons };
}

/** A rule that is broken, or open, in a few words. */
function said(rule: Rule): string {
  if (rule.ok === null) return `${limited(rule)}: not judged`;
  const name = rule.name.replace(/^arrival_/, '').replaceAll('_', ' ');
  if (rule.limit === null || rule.value === null) return rule.reason || name;
  if (rule.unit === 'messages') return `${plain(measuredText({ ...rule, unit: '' }))} ${name}`;
  // A doubt of the instrument needs its reason; a limit explains itself.
  return (rule.result === 'invalid' && rule.reason) || `${name} ${plain(measuredText(rule))}`;
}

/** The same in one second, as a tenth of a second decides p99 of a run of ten. */
const STEAL_MUCH_AT_ONCE = 10;
/** % of the host's CPU that processes outside the run may use. */
const OTHERS_MUCH = 5;

/** The share of due messages that may be in flight at the end. */
const UNDER_WAY = 0.02;

/** A share of 100 in words. */
const share = (of: number) => plain(percent(of / 100));

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
  if (mean >= judging.steal_much || most >= STEAL_MUCH_AT_ONCE)
    disturbances.push(`the hypervisor took ${share(mean)} of the CPU, ${share(most)} in the worst second`);
  if (others >= OTHERS_MUCH) disturbances.push(`other processes took ${share(others)} of the CPU`);
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
  const [stage, next] = stagesOf(not)
    .map(({ name }): [string, number] => {
      const [from, to] = [held, not].map((run) => (run && latencyOf(run.latency, name).mean) ?? 0) as [
        number,
        number,
      ];
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
