/** Compares runs. Pure. */
import { equation, failures, sumOfAccounts } from '../account.ts';
import type { Interval, Run, Step } from '../contract/run.ts';
import { curve, percentile, protocolOf } from '../page/facts.ts';
import type { Comparison, Curve, Row, StepSummary, Subject } from './comparison.ts';
import { differenceOf, figureOf } from './differences.ts';
import { isUndecided } from './doubts.ts';
import { mean } from './intervals.ts';
import { kneeOf } from './knees.ts';
import { type Measure, measureOf, sharesOf, spansStages } from './measures.ts';
import type { Group, Recording } from './recording.ts';
import { counted, differing, grouped, MOST_SUBJECTS, obstacle, titles } from './subjects.ts';

const ARRIVAL = ['p50', 'p90', 'p95', 'p99', 'p999', 'mean'].map((key) => `arrival.${key}`);
const HTTP = ['p50', 'p99'].map((key) => `http.${key}`);
const RATES = ['rate.accepted', 'rate.arrived'];
const OTHERS = [...HTTP, 'canary.p50', ...RATES];

/** The stage by spans that is the sum of all. */
const WHOLE = 'due-arrived';

interface CompareOptions {
  /** No run is a repeat of another. */
  each?: boolean;
  /** Also compares runs in which messages failed. */
  allowFailed?: boolean;
}

/** Thrown for runs in which messages failed, unless allowed: their figures lack the failed messages. */
export class FailedRunsError extends Error {
  /** The account of each run, in their order. */
  readonly accounts: string[];

  constructor(runs: readonly Run[]) {
    const accounts = runs.map(({ run: { name }, account }) => `${name}: ${equation(account)}`);
    super(
      `messages of these runs failed, and their figures are those of the others (${accounts.join('; ')})`,
    );
    this.accounts = accounts;
  }
}

/**
 * Compares runs with the first of them.
 * @throws if there are fewer than two subjects, or more than {@link MOST_SUBJECTS}
 * @throws {FailedRunsError}
 */
export function compare(recordings: readonly Recording[], options: CompareOptions = {}): Comparison {
  return comparisonOf(grouped(recordings, options.each ?? false), options);
}

export function comparisonOf(
  groups: readonly Group[],
  { allowFailed = false }: Omit<CompareOptions, 'each'> = {},
): Comparison {
  const baseline = groups[0];
  if (baseline === undefined || groups.length < 2) throw new Error('a comparison needs at least two runs');
  if (groups.length > MOST_SUBJECTS) {
    throw new Error(
      `a comparison shows ${MOST_SUBJECTS} runs or groups of repeats at most, not ${groups.length}`,
    );
  }
  const failed = groups.flat().flatMap(({ run }) => (failures(run.account) === null ? [] : [run]));
  if (failed.length > 0 && !allowFailed) throw new FailedRunsError(failed);
  const names = titles(groups);
  const counting = groups.map(counted);
  const width = widthOf(counting.map(([first]) => (first as Recording).run));
  const stages = stagesOfAll(counting.flat());
  const spans = [...new Set(counting.flat().flatMap(({ run }) => spansStages(run)))];
  const subjects = groups.map((group, i) => ({
    ...subject(counting[i] as Group, counting[0] as Group, i, names[i] as string, width, { stages, spans }),
    ...whole(group, counting[i] as Group),
  }));
  // In the open model the profile sets the rates.
  const closed = subjects.some(({ model }) => model === 'closed');
  const fits = subjects.map(({ obstacle }) => obstacle === null);
  return {
    schema: 'arrival/comparison/2',
    subjects,
    rows: [
      ...ARRIVAL.map((name) => measureOf(name) as Measure),
      ...sharesOf(counting.flat().map(({ run }) => run)),
      ...[
        ...stages.map((stage) => `${stage}.mean`),
        ...spans.map((stage) => `spans.${stage}.mean`),
        ...OTHERS,
      ].map((name) => measureOf(name) as Measure),
    ]
      .filter(({ name }) => closed || !RATES.includes(name))
      .map((measure) => row(counting, measure, fits))
      .filter(({ values }) => values.some((value) => value !== null)),
    differing: differing(groups),
  };
}

/** The stages of any of the runs: those of the first, then what the others have besides. */
function stagesOfAll(recordings: readonly Recording[]): string[] {
  return [...new Set(recordings.flatMap(({ run }) => run.stages.map(({ name }) => name)))];
}

/** One measure of every group, with differences of the comparable ones. */
export function row(groups: readonly Group[], measure: Measure, fits: readonly boolean[]): Row {
  const baseline = groups[0] as Group;
  return {
    name: measure.name,
    kind: measure.kind,
    values: groups.map((group) =>
      group.every(({ run }) => run.account.balanced) ? figureOf(group, measure) : null,
    ),
    differences: groups.map((group, i) =>
      i === 0 || !fits[i] ? null : differenceOf(baseline, group, measure),
    ),
  };
}

/** What covers all runs of a group, including those whose figures do not count: a lost message is lost in any of them. */
function whole(group: Group, counting: Group): Pick<Subject, 'runs' | 'account' | 'failed'> {
  const account = sumOfAccounts(group.map(({ run }) => run.account));
  return {
    runs: group.map((recording) => {
      const { run, verdict } = recording.run;
      return {
        name: run.name,
        ...(recording.page !== undefined && { page: recording.page }),
        tool: [run.tool.name, run.tool.version].filter((word) => word !== null).join(' '),
        started: run.started,
        verdict: verdict.result,
        ...(isUndecided(recording.run) && { undecided: true }),
        reasons: verdict.reasons,
        counted: counting.includes(recording),
      };
    }),
    account,
    failed: failures(account),
  };
}

/** The rest of a subject, from the runs that count. */
function subject(
  group: Group,
  baseline: Group,
  index: number,
  title: string,
  width: number,
  { stages, spans }: { stages: readonly string[]; spans: readonly string[] },
): Omit<Subject, 'runs' | 'account' | 'failed'> {
  const [first] = group as [Recording];
  const runs = group.map(({ run }) => run);
  const balanced = runs.every((run) => run.account.balanced);
  const summaries = balanced ? steps(runs) : [];
  const means = (names: readonly string[], measure: (stage: string) => string) =>
    Object.fromEntries(
      names.map((stage) => [
        stage,
        balanced ? figureOf(group, measureOf(`${measure(stage)}.mean`) as Measure) : null,
      ]),
    );
  return {
    letter: String.fromCharCode(65 + index),
    title,
    obstacle: obstacle(baseline, group),
    model: first.run.run.model,
    protocol: protocolOf(first.run),
    profile: first.run.run.profile.name,
    calibration: calibrationOf(runs),
    arrival: balanced ? curves(runs.map((run) => curve(run.latency.arrival))) : [],
    http: balanced ? curves(runs.map((run) => curve(run.latency.http))) : [],
    stages: means(stages, (stage) => stage),
    spans: means(
      spans.filter((stage) => stage !== WHOLE),
      (stage) => `spans.${stage}`,
    ),
    steps: summaries,
    knee: kneeOf(summaries, runs),
    timeline: balanced ? timeline(first.run, width) : { t: [], p50: [], p99: [] },
  };
}

function calibrationOf(runs: readonly Run[]): number | null {
  const times = runs.map(({ environment }) => environment.calibration_us ?? 0);
  return times.every((time) => time > 0) ? Math.exp(mean(times.map(Math.log))) : null;
}

/** The points that all curves share. */
function curves(all: readonly Curve[]): Curve {
  const [first = [], ...others] = all;
  return first.flatMap(([at, value]): Curve => {
    const rest = others.map((points) => points.find(([p]) => p === at)?.[1] ?? 0);
    const values = [value, ...rest];
    return values.every((ms) => ms > 0) ? [[at, Math.exp(mean(values.map(Math.log)))]] : [];
  });
}

/** Steps of repeats: the geometric mean of each figure. */
function steps(runs: readonly Run[]): StepSummary[] {
  return (runs[0] as Run).steps.map((step, i): StepSummary => {
    const of = (value: (step: Step, run: Run) => number | null): number | null => {
      const values = runs.map((run) => (run.steps[i] === undefined ? null : value(run.steps[i], run)));
      if (!values.every((one) => one !== null)) return null;
      return values.some((one) => one <= 0) ? mean(values) : Math.exp(mean(values.map(Math.log)));
    };
    const { arrival, http } = step.latency;
    return {
      name: step.name,
      vus: step.vus,
      measured: step.measured,
      requests_per_s: of((s) => (s.duration_s > 0 ? s.requests / s.duration_s : null)),
      carried_per_s: of((step) => step.carried_per_s),
      arrived_per_s: of((s) => s.arrived_per_s),
      arrival: {
        count: arrival.count,
        p50: of((s) => percentile(s.latency.arrival, 'p50')),
        p95: of((s) => percentile(s.latency.arrival, 'p95')),
        p99: of((s) => percentile(s.latency.arrival, 'p99')),
      },
      http: {
        count: http.count,
        mean: of((s) => s.latency.http.mean),
        max: of((s) => s.latency.http.max),
        min: of((s) => s.latency.http.min),
        p50: of((s) => percentile(s.latency.http, 'p50')),
        p99: of((s) => percentile(s.latency.http, 'p99')),
      },
    };
  });
}

/** The most points of a line. In a longer run each point is the worst of several seconds. */
const MOST_POINTS = 600;

/** The seconds of a point, the same in all lines, which share a time axis. */
function widthOf(runs: readonly Run[]): number {
  return Math.max(1, Math.ceil(Math.max(...runs.map(lengthOf)) / MOST_POINTS));
}

function lengthOf({ timeline }: Run): number {
  return Math.floor(timeline.at(-1)?.t ?? -1) + 1;
}

function timeline(run: Run, width: number): Subject['timeline'] {
  const spans = Array.from({ length: Math.ceil(lengthOf(run) / width) }, (): Interval[] => []);
  for (const second of run.timeline) spans[Math.floor(second.t / width)]?.push(second);
  const worst = (key: 'p50' | 'p99') =>
    spans.map((span) => {
      const values = span.flatMap((s) => (s.arrival === null ? [] : (percentile(s.arrival, key) ?? [])));
      return values.length > 0 ? Math.max(...values) : null;
    });
  return { t: spans.map((_, i) => i * width), p50: worst('p50'), p99: worst('p99') };
}
