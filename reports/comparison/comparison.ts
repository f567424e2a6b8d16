/** The data of a comparison, for page, terminal and JSON. Latencies are in ms. */
import type { Account, Knee as RunKnee, VerdictResult } from '../contract/run.ts';
import type { Measure } from './measures.ts';

/** A smaller difference matters to nobody; of shares near 1 a small one does. */
export const MARGIN: Record<Measure['kind'], number> = {
  latency: 0.01,
  rate: 0.01,
  count: 0.01,
  share: 0.0001,
};
/** The ratio from which on a difference is large, and is named without an interval too. */
export const MUCH = 3;
/** Why a better figure does not count when messages of its run failed. */
export const BETTER_FAILED = 'messages of the better run failed: they would have been its slowest';
/** Why a difference of the generator's lateness has no word: it is a condition of the runs. */
export const GENERATORS = 'the generator’s own, not the pipeline’s';
/** The most repeats that a command makes. */
export const MOST_REPEATS = 20;
export const OTHER_LOAD = 'not comparable: other load';

export interface Comparison {
  schema: 'arrival/comparison/2';
  /** The baseline first. */
  subjects: Subject[];
  rows: Row[];
  /** Names, labels, the load, limits, settings and facts of the environment that differ; settings first. */
  differing: { name: string; values: string[] }[];
  /** The results of a gate's conditions. Absent: there were none. */
  conditions?: Judgement[];
  /** Absent: there are none. */
  additions?: Addition[];
}

/** The result of a gate's condition for one subject. */
export interface Judgement {
  condition: string;
  subject: string;
  /** Only `passed` lets a change through. */
  result: 'passed' | 'exceeded' | 'messages failed' | 'undecided' | 'not judged';
  /** The judged figure, or why there is none, or what it may be. */
  detail: string;
}

/** A further table of the caller. */
export interface Addition {
  title: string;
  /** Unit, estimator and samples. */
  caption: string;
  head: string[];
  rows: string[][];
  /** Paragraphs below it. */
  notes: string[];
}

/** One run, or repeats of one. */
export interface Subject {
  /** A, B, … */
  letter: string;
  /** What distinguishes it from the others, in a few words. */
  title: string;
  runs: RunSummary[];
  /** Why it cannot be compared with the baseline; null: it can. */
  obstacle: string | null;
  model: 'open' | 'closed';
  /** The protocol of the requests, whose latency is `http`: HTTP, MQTT, Redis. */
  protocol: string;
  profile: string;
  /** How long the same work took on its machine before the load, µs; of repeats the geometric mean; null: not known of all. */
  calibration: number | null;
  /** Each count is the sum over the runs. */
  account: Account;
  /** Failed messages, like 900 rejected, 3 lost; null: none. */
  failed: string | null;
  arrival: Curve;
  http: Curve;
  /** Means by stage, in order, of the stages of all subjects; null: no stamps, or no such stage. */
  stages: Record<string, number | null>;
  /** The same of sampled messages by spans, from mark to mark. */
  spans: Record<string, number | null>;
  steps: StepSummary[];
  /** The knee of a sweep of concurrency; null: none, or no sweep. */
  knee: Knee | null;
  /** Arrival by the second, of the first run; in long runs the worst of several seconds, as many in all subjects. */
  timeline: { t: number[]; p50: (number | null)[]; p99: (number | null)[] };
}

/** Percentile 0..100, ms; of repeats the geometric mean. */
export type Curve = [percentile: number, ms: number][];

export interface RunSummary {
  name: string;
  /** The address of its page, relative to the comparison's. Absent: unknown. */
  page?: string;
  tool: string;
  started: string;
  verdict: VerdictResult;
  /** It is invalid, as a limit is undecided: some of its figures stand. Absent: no. */
  undecided?: true;
  reasons: string[];
  /** False: it is invalid and its repeats are not, so its latencies and rates do not count. */
  counted: boolean;
}

export interface StepSummary {
  name: string;
  vus: number | null;
  measured: boolean;
  requests_per_s: number | null;
  /** Messages that were accepted and arrived during the step. */
  carried_per_s: number | null;
  arrived_per_s: number | null;
  arrival: { count: number; p50: number | null; p95: number | null; p99: number | null };
  http: {
    count: number;
    mean: number | null;
    max: number | null;
    min: number | null;
    p50: number | null;
    p99: number | null;
  };
}

/** The knee of a run, with arrival at it. */
export interface Knee extends RunKnee {
  /** Arrival, ms. */
  p50: number | null;
}

export interface Row {
  name: string;
  kind: Measure['kind'];
  /** One for each subject, shares of 1; for repeats the geometric mean, of counts the mean. */
  values: (number | null)[];
  /** One for each subject, null for the baseline. */
  differences: (Difference | null)[];
}

export interface Difference {
  /** other − baseline, in the row's unit. */
  absolute: number;
  /** other / baseline − 1; null where either is 0. */
  relative: number | null;
  /** The interval of `relative`; null: there is none, see `why`. */
  interval: { low: number; high: number; from: string } | null;
  /** Why it is undecided, other than by a wide interval, or has no interval: `reason` or `reason: details`. */
  why: string | null;
  word: Word;
  /**
   * So many more runs on each side would decide it in four of five cases, if they vary as these do; of single runs: as their seconds do.
   * 0: not even the most that `--repeat` makes. Absent: it is decided, or this is not known.
   */
  more?: number;
}

/** The finding. For rates and shares, worse is lower. Without an interval it is named only if it is large. */
export type Word = 'worse' | 'better' | 'equal' | 'undecided';
